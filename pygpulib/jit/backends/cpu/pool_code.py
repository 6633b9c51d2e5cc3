"""The machine code of the thread pool, as LLVM IR.

The whole state is the module's globals. ``@word`` holds ``epoch << 32 | open << 31 | joined``:
a launch is *open* while workers may join it; the last of the ``joined`` workers to leave wakes
the caller. Fields of a launch are written before it opens and read by those who joined.

An interrupt (Ctrl-C) ends a launch of the main thread: a signal handler sets a word, after which
no block is begun, and does then what was done before it was there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuTarget

# Kernels keep the memory of a block on the stack, and some systems give threads very little.
_STACK_BYTES = 8 << 20

# About ten microseconds, after which a thread sleeps until it is woken.
_SPINS = 400

_ARM_PAUSE = 'call void asm sideeffect "yield", ""()'
_PAUSES = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": _ARM_PAUSE,
    "arm64": _ARM_PAUSE,
}

_TEXT = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i64 @pthread_self()
declare ptr @signal(i32, ptr)
declare i32 @siginterrupt(i32, i32)
declare i64 @time(ptr)
declare void @llvm.x86.sse2.pause()
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

; Each group that is written together has a cache line of its own.
@word = internal global i64 0, align 128
@next = internal global i64 0, align 128
@asleep = internal global i64 0, align 128
@caller_asleep = internal global i64 0, align 128
@kernel = internal global ptr null, align 128
@words = internal global ptr null
@halt = internal global ptr null
@blocks = internal global i64 0
@participants = internal global i64 0
@limit = internal global i64 0, align 128
@stopping = internal global i64 0
@busy = internal global i64 0, align 128
@ready = global i64 0, align 128
@interrupted = internal global i64 0, align 128
@never = internal global i64 0, align 128
@main_thread = internal global i64 0
@handler_before = internal global ptr null
; Larger than these objects are on any system.
@mutex = internal global [32 x i64] zeroinitializer, align 128
@work_condition = internal global [32 x i64] zeroinitializer, align 128
@done_condition = internal global [32 x i64] zeroinitializer, align 128

; Whether a word belongs to an open launch with room for one more worker.
define internal i1 @is_joinable(i64 %word) alwaysinline nounwind {
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %open_bit = and i64 %word, 2147483648
  %is_open = icmp ne i64 %open_bit, 0
  %joined = and i64 %word, 2147483647
  %has_room = icmp slt i64 %joined, %limit
  %both = and i1 %is_open, %has_room
  ret i1 %both
}

; Takes blocks until none is left: a quarter of a fair share of what remains, at least one.
define internal void @drain(i64 %worker) noinline nounwind {
entry:
  %kernel = load ptr, ptr @kernel
  %words = load ptr, ptr @words
  %stop = load ptr, ptr @halt
  %blocks = load i64, ptr @blocks
  %participants = load i64, ptr @participants
  %divisor = shl i64 %participants, 2
  br label %look
look:
  %first = load atomic i64, ptr @next monotonic, align 8
  %left = sub i64 %blocks, %first
  %any = icmp sgt i64 %left, 0
  %stopped = load atomic i64, ptr %stop monotonic, align 8
  %goes_on = icmp eq i64 %stopped, 0
  %more = and i1 %any, %goes_on
  br i1 %more, label %take, label %done
take:
  %guided = udiv i64 %left, %divisor
  %chunk = call i64 @llvm.smax.i64(i64 %guided, i64 1)
  %end = add i64 %first, %chunk
  %attempt = cmpxchg ptr @next, i64 %first, i64 %end monotonic monotonic
  %is_mine = extractvalue {i64, i1} %attempt, 1
  br i1 %is_mine, label %run, label %look
run:
  call void %kernel(ptr %words, i64 %first, i64 %end, i64 %worker, ptr %stop)
  br label %look
done:
  ret void
}

define internal ptr @work(ptr %unused) nounwind {
entry:
  br label %idle
idle:
  br label %spin
spin:
  %spins = phi i64 [0, %idle], [%more_spins, %pause]
  %word = load atomic i64, ptr @word seq_cst, align 8
  %can_join = call i1 @is_joinable(i64 %word)
  br i1 %can_join, label %join, label %pause
pause:
  PAUSE
  %more_spins = add i64 %spins, 1
  %is_patient = icmp ult i64 %more_spins, SPINS
  br i1 %is_patient, label %spin, label %sleep
sleep:
  call i32 @pthread_mutex_lock(ptr @mutex)
  atomicrmw add ptr @asleep, i64 1 seq_cst
  br label %doze
doze:
  %word_now = load atomic i64, ptr @word seq_cst, align 8
  %can_join_now = call i1 @is_joinable(i64 %word_now)
  %stopping = load atomic i64, ptr @stopping monotonic, align 8
  %must_stop = icmp ne i64 %stopping, 0
  %wakes = or i1 %can_join_now, %must_stop
  br i1 %wakes, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @work_condition, ptr @mutex)
  br label %doze
awake:
  atomicrmw sub ptr @asleep, i64 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br i1 %must_stop, label %quit, label %idle
join:
  %joined_word = add i64 %word, 1
  %attempt = cmpxchg ptr @word, i64 %word, i64 %joined_word seq_cst seq_cst
  %is_in = extractvalue {i64, i1} %attempt, 1
  br i1 %is_in, label %run, label %idle
run:
  ; Who leaves closes the launch first, so a number is never given twice in one launch.
  %joined = and i64 %joined_word, 2147483647
  call void @drain(i64 %joined)
  atomicrmw and ptr @word, i64 -2147483649 seq_cst
  %before = atomicrmw sub ptr @word, i64 1 seq_cst
  %present = and i64 %before, 2147483647
  %is_last = icmp eq i64 %present, 1
  %caller_asleep = load atomic i64, ptr @caller_asleep seq_cst, align 8
  %caller_sleeps = icmp ne i64 %caller_asleep, 0
  %must_signal = and i1 %is_last, %caller_sleeps
  br i1 %must_signal, label %signal, label %idle
signal:
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_cond_signal(ptr @done_condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %idle
quit:
  ret ptr null
}

; Runs a launch; the caller is worker 0. Returns whether it was interrupted.
define i64 @run(ptr %kernel, ptr %words, i64 %blocks) nounwind {
entry:
  %self = call i64 @pthread_self()
  %main = load i64, ptr @main_thread
  %is_main = icmp eq i64 %self, %main
  %stop = select i1 %is_main, ptr @interrupted, ptr @never
  store atomic i64 0, ptr %stop monotonic, align 8
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %is_single = icmp sle i64 %blocks, 1
  %is_alone = icmp sle i64 %limit, 0
  %is_serial = or i1 %is_single, %is_alone
  br i1 %is_serial, label %serial, label %acquire
acquire:
  ; Where another thread's launch has the workers, do not wait for it.
  %attempt = cmpxchg ptr @busy, i64 0, i64 1 seq_cst seq_cst
  %is_mine = extractvalue {i64, i1} %attempt, 1
  br i1 %is_mine, label %open, label %serial
serial:
  call void %kernel(ptr %words, i64 0, i64 %blocks, i64 0, ptr %stop)
  br label %leave
open:
  store ptr %kernel, ptr @kernel
  store ptr %words, ptr @words
  store ptr %stop, ptr @halt
  store i64 %blocks, ptr @blocks
  %participants = add i64 %limit, 1
  store i64 %participants, ptr @participants
  store atomic i64 0, ptr @next monotonic, align 8
  %word = load atomic i64, ptr @word seq_cst, align 8
  %next_epoch = add i64 %word, 4294967296
  %opened = or i64 %next_epoch, 2147483648
  store atomic i64 %opened, ptr @word seq_cst, align 8
  %asleep = load atomic i64, ptr @asleep seq_cst, align 8
  %spare_blocks = sub i64 %blocks, 1
  %useful = call i64 @llvm.smin.i64(i64 %spare_blocks, i64 %limit)
  %to_wake = call i64 @llvm.smin.i64(i64 %useful, i64 %asleep)
  %any_to_wake = icmp sgt i64 %to_wake, 0
  br i1 %any_to_wake, label %settle, label %help
settle:
  ; Once the mutex is free, those who counted themselves asleep are inside the wait.
  call i32 @pthread_mutex_lock(ptr @mutex)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %wake
wake:
  %woken = phi i64 [0, %settle], [%woken_now, %wake]
  call i32 @pthread_cond_signal(ptr @work_condition)
  %woken_now = add i64 %woken, 1
  %wakes_more = icmp slt i64 %woken_now, %to_wake
  br i1 %wakes_more, label %wake, label %help
help:
  call void @drain(i64 0)
  atomicrmw and ptr @word, i64 -2147483649 seq_cst
  br label %spin
spin:
  %spins = phi i64 [0, %help], [%more_spins, %pause]
  %seen = load atomic i64, ptr @word seq_cst, align 8
  %present = and i64 %seen, 2147483647
  %is_done = icmp eq i64 %present, 0
  br i1 %is_done, label %finish, label %pause
pause:
  PAUSE
  %more_spins = add i64 %spins, 1
  %is_patient = icmp ult i64 %more_spins, SPINS
  br i1 %is_patient, label %spin, label %sleep
sleep:
  call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i64 1, ptr @caller_asleep seq_cst, align 8
  br label %doze
doze:
  %seen_now = load atomic i64, ptr @word seq_cst, align 8
  %present_now = and i64 %seen_now, 2147483647
  %is_done_now = icmp eq i64 %present_now, 0
  br i1 %is_done_now, label %awake, label %wait
wait:
  call i32 @pthread_cond_wait(ptr @done_condition, ptr @mutex)
  br label %doze
awake:
  store atomic i64 0, ptr @caller_asleep seq_cst, align 8
  call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %finish
finish:
  store atomic i64 0, ptr @busy seq_cst, align 8
  br label %leave
leave:
  %stopped = load atomic i64, ptr %stop monotonic, align 8
  ret i64 %stopped
}

define internal void @on_interrupt(i32 %number) nounwind {
entry:
  store atomic i64 1, ptr @interrupted seq_cst, align 8
  %before = load ptr, ptr @handler_before
  %address = ptrtoint ptr %before to i64
  ; 0 and 1 stand for what the system does by itself.
  %is_function = icmp ugt i64 %address, 1
  br i1 %is_function, label %go_on, label %done
go_on:
  call void %before(i32 %number)
  br label %done
done:
  ret void
}

; Listens to interrupts from now on, before whoever does now, on behalf of the main thread.
define void @listen(i32 %number, i64 %main_thread) nounwind {
entry:
  store i64 %main_thread, ptr @main_thread
  %before = call ptr @signal(i32 %number, ptr @on_interrupt)
  ; As Python has it, system calls are not begun again after an interrupt.
  call i32 @siginterrupt(i32 %number, i32 1)
  %is_own = icmp eq ptr %before, @on_interrupt
  br i1 %is_own, label %done, label %keep
keep:
  store ptr %before, ptr @handler_before
  br label %done
done:
  ret void
}

; Makes everything as if no thread and no launch had ever been; only before the first thread of
; this process.
define void @reset() nounwind {
  store i64 0, ptr @word
  store i64 0, ptr @asleep
  store i64 0, ptr @caller_asleep
  store i64 0, ptr @limit
  store i64 0, ptr @stopping
  store i64 0, ptr @busy
  store i64 0, ptr @ready
  call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  call i32 @pthread_cond_init(ptr @work_condition, ptr null)
  call i32 @pthread_cond_init(ptr @done_condition, ptr null)
  ret void
}

; Starts one more thread; returns 0, or why the system gave none.
define i32 @grow() nounwind {
  %attributes = alloca [32 x i64], align 16
  %thread = alloca ptr
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK)
  %status = call i32 @pthread_create(ptr %thread, ptr %attributes, ptr @work, ptr null)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %is_started = icmp eq i32 %status, 0
  br i1 %is_started, label %started, label %failed
started:
  %handle = load ptr, ptr %thread
  call i32 @pthread_detach(ptr %handle)
  ret i32 0
failed:
  ret i32 %status
}

; Lets so many workers join from now on. Python has looked, and wants to after this second again.
define void @open_to(i64 %workers) nounwind {
  store atomic i64 %workers, ptr @limit seq_cst, align 8
  %now = call i64 @time(ptr null)
  store atomic i64 %now, ptr @ready seq_cst, align 8
  ret void
}

; Sends all threads home.
define void @stop() nounwind {
  store atomic i64 0, ptr @limit seq_cst, align 8
  store atomic i64 0, ptr @ready seq_cst, align 8
  call i32 @pthread_mutex_lock(ptr @mutex)
  store atomic i64 1, ptr @stopping seq_cst, align 8
  call i32 @pthread_cond_broadcast(ptr @work_condition)
  call i32 @pthread_mutex_unlock(ptr @mutex)
  ret void
}
"""

SYMBOLS = ("run", "reset", "grow", "open_to", "stop", "ready", "listen")


def pool_text(target: CpuTarget) -> str:
    """Return the pool's module for a processor."""
    pause = _PAUSES.get(target.architecture, "fence seq_cst")
    text = _TEXT.replace("PAUSE", pause)
    if target.architecture != "x86_64":
        text = text.replace("declare void @llvm.x86.sse2.pause()\n", "")
    return text.replace("SPINS", str(_SPINS)).replace("STACK", str(_STACK_BYTES))
