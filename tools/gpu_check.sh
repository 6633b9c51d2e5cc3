#!/usr/bin/env bash
# Checks this package on a machine with a GPU and without network, in under five minutes.
#
#   tools/gpu_check.sh --prepare DIR [--python 3.12] [--limit MIB]
#       downloads into DIR (say, build/wheels) what such a machine may lack; take it along
#   tools/gpu_check.sh [--wheels DIR] [--budget SECONDS] [--jobs N]
#       runs doctor, kernels of all kinds, measurements and the public tests, in this order
#   tools/gpu_check.sh --fake
#       does the same in small on the simulated GPU of tests/fakecuda, to see that it works
#
# Results are in $OUT, or in build/gpu_check: gpu_check.txt, gpu_check.json and logs.txt.
# PYTHON names the interpreter. Nothing outside these folders is changed.

set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-python3}

if [ "${1-}" = --prepare ]; then
    shift
    exec "$python" -m tests.gpu.packages prepare "$@"
fi

wheels=build/wheels
budget=280
jobs=$(($(nproc) > 12 ? 12 : $(nproc)))
fake=
while [ $# -gt 0 ]; do
    case $1 in
        --wheels) wheels=$2; shift 2 ;;
        --budget) budget=$2; shift 2 ;;
        --jobs) jobs=$2; shift 2 ;;
        --fake) fake=1; shift ;;
        *) sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done

out=${OUT:-build/gpu_check}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d) # packages, the cache and logs of the parts
trap 'rm -rf "$work"' EXIT
rm -f "$out"/{parts.tsv,figures.jsonl,outcomes.jsonl,gpu_check.json,gpu_check.txt,logs.txt}
: >"$out/parts.tsv"

export PYTHONPATH=$PWD:$work/packages PYTHONUNBUFFERED=1
export PYGPULIB_BACKEND=cuda PYGPULIB_CACHE_DIR=$work/cache
export GPU_CHECK_OUTCOMES=$out/outcomes.jsonl
if [ -f "$wheels/libdevice.10.bc" ]; then
    PYGPULIB_LIBDEVICE=$(cd "$wheels" && pwd)/libdevice.10.bc
    export PYGPULIB_LIBDEVICE
fi

# part NAME LIMIT COMMAND...: runs a command for at most LIMIT seconds of what the budget leaves.
part() {
    local name=$1 limit=$2 left=$((budget - SECONDS - 5)) start=$SECONDS status
    shift 2
    if [ "$left" -lt 5 ]; then
        printf '%s\t-1\t0\n' "$name" >>"$out/parts.tsv"
        return 1
    fi
    [ "$limit" -gt "$left" ] && limit=$left
    echo "== $name: at most $limit s"
    # The signal of Ctrl-C first, so that pytest still tells what it knows.
    timeout --signal=INT --kill-after=5 "$limit" "$@" >"$work/$name.log" 2>&1
    status=$?
    [ $status -eq 0 ] || tail -n 5 "$work/$name.log"
    printf '%s\t%s\t%s\n' "$name" $status $((SECONDS - start)) >>"$out/parts.tsv"
    return $status
}

# Runs a module or a file of Python, with the simulated GPU if it is to be the simulated one.
run() { # run module NAME [ARGUMENT...]
    if [ -n "$fake" ]; then
        "$python" -m tests.fakecuda.run tests/gpu/run_module.py "$@"
    else
        "$python" -m "$@"
    fi
}
export python fake
export -f run

tests() { # tests NAME LIMIT [ARGUMENT...]
    local name=$1 limit=$2 workers=$jobs
    shift 2
    [ -n "$fake" ] && workers=0 # the simulated GPU is in one process only
    part "$name" "$limit" bash -c 'run "$@"' run pytest --backend cuda -q -p no:randomly \
        -p no:cacheprovider -p tests.gpu.outcomes -n "$workers" --max-worker-restart=8 \
        --maxfail=200 -m "not slow and not fuzz" "$@"
}

finish() {
    for log in "$work"/*.log; do
        printf '\n==== %s\n' "$(basename "$log")"
        cat "$log"
    done | tail -c 8000000 >"$out/logs.txt"
    "$python" -m tests.gpu.report "$out" ${fake:+--simulated} || exit 2
    rm -f "$out/figures.jsonl" "$out/outcomes.jsonl"
    # That time runs out in the test suite is no failure.
    awk -F'\t' '$2 && !($1 ~ /^suite/ && $2 ~ /^(-1|124|137)$/) { bad = 1 } END { exit bad }' \
        "$out/parts.tsv"
    local status=$?
    rm -f "$out/parts.tsv"
    exit $status
}

part packages 60 "$python" -m tests.gpu.packages unpack "$wheels" "$work/packages" || {
    cat "$work/packages.log"
    finish
}
part doctor 40 bash -c 'run "$@"' run pygpulib doctor
cat "$work/doctor.log"
tests kernels 60 tests/gpu/test_kernels.py
part figures 100 bash -c 'run "$@"' run tests.gpu.measure "$out/figures.jsonl" \
    ${fake:+--simulated}
if [ -n "$fake" ]; then
    tests suite-1 60 tests/unit/cuda/test_atomics.py -k "add or max"
else
    # The most valuable ones first, because time may run out.
    read -ra public <<<"$(make -s public-tests)"
    first=(tests/unit/cuda tests/differential)
    rest=()
    for place in "${public[@]}"; do
        [[ " ${first[*]} " = *" $place "* ]] || rest+=("$place")
    done
    tests suite-1 120 "${first[@]}"
    tests suite-2 120 "${rest[@]}"
fi
finish
