"""Which functions there are, whose meaning they have, and what they do."""

from __future__ import annotations

from pygpulib._record import record

NUMPY, SCIPY = "numpy.linalg", "scipy.linalg"


@record(eq=True)
class Function:
    """A function of linear algebra.

    Attributes
    ----------
    name : str
        Its name, here and in the module that defines it.
    home : str
        The module whose signature, results and errors it has, and that computes on the host.
    summary : str
        What it does.
    """

    name: str
    home: str
    summary: str


def _read(home: str, rows: str) -> dict[str, Function]:
    """Return the functions of a module from lines of names and summaries."""
    functions = {}
    for row in rows.strip().splitlines():
        name, summary = row.split(maxsplit=1)
        functions[name] = Function(name, home, summary)
    return functions


OF_NUMPY = _read(
    NUMPY,
    """
cholesky          Factor positive definite matrices: a = L L^H.
cond              Return the condition numbers of matrices.
cross             Return the cross products of vectors of three elements.
det               Return the determinants of matrices.
diagonal          Return diagonals of matrices.
eig               Return eigenvalues and right eigenvectors of matrices.
eigh              Return eigenvalues and eigenvectors of Hermitian matrices.
eigvals           Return the eigenvalues of matrices.
eigvalsh          Return the eigenvalues of Hermitian matrices.
inv               Invert matrices.
lstsq             Solve a x = b in the sense of least squares.
matmul            Multiply matrices.
matrix_norm       Return norms of matrices.
matrix_power      Raise matrices to an integer power.
matrix_rank       Return the numbers of singular values that count as more than zero.
matrix_transpose  Exchange rows and columns of matrices.
multi_dot         Multiply several matrices in the cheapest order.
norm              Return norms of vectors or matrices.
outer             Multiply each element of a vector with each of another.
pinv              Return the pseudo-inverses of matrices.
qr                Factor matrices into orthonormal and triangular ones: a = Q R.
slogdet           Return the signs and logarithms of determinants.
solve             Solve a x = b.
svd               Factor matrices into their singular values and vectors: a = U S V^H.
svdvals           Return the singular values of matrices.
tensordot         Sum products of two arrays over several axes.
tensorinv         Invert an array as a map between arrays.
tensorsolve       Solve a x = b, where x and b are arrays of several axes.
trace             Return sums of diagonals.
vecdot            Return dot products of vectors.
vector_norm       Return norms of vectors.
""",
)
"""The functions of ``numpy.linalg``, all for stacks of matrices where NumPy's are."""

OF_SCIPY = _read(
    SCIPY,
    """
bandwidth                    Return how many diagonals below and above the main one are not zero.
block_diag                   Put matrices along the diagonal of a larger one.
cdf2rdf                      Turn complex eigenvalues and eigenvectors into real blocks.
cho_factor                   Factor a positive definite matrix for `cho_solve`.
cho_solve                    Solve a x = b with what `cho_factor` returned.
cho_solve_banded             Solve a x = b with what `cholesky_banded` returned.
cholesky                     Factor a positive definite matrix into a triangle and its transpose.
cholesky_banded              Factor a positive definite matrix that is given by its diagonals.
circulant                    Return a matrix whose columns are a vector, turned round.
clarkson_woodruff_transform  Multiply a matrix with a random one of few rows.
companion                    Return the matrix whose eigenvalues are the roots of a polynomial.
convolution_matrix           Return the matrix that convolves vectors with another one.
coshm                        Return the hyperbolic cosine of a matrix.
cosm                         Return the cosine of a matrix.
cossin                       Factor an orthonormal matrix into cosines and sines.
det                          Return the determinant of a matrix.
dft                          Return the matrix of the discrete Fourier transform.
diagsvd                      Return the matrix of singular values that `svd` stands for.
eig                          Return eigenvalues and eigenvectors of a matrix, or of a pair.
eig_banded                   Return eigenvalues and eigenvectors of a Hermitian banded matrix.
eigh                         Return eigenvalues and eigenvectors of a Hermitian matrix, or a pair.
eigh_tridiagonal             Return eigenvalues and eigenvectors of a real tridiagonal matrix.
eigvals                      Return the eigenvalues of a matrix, or of a pair.
eigvals_banded               Return the eigenvalues of a Hermitian banded matrix.
eigvalsh                     Return the eigenvalues of a Hermitian matrix, or of a pair.
eigvalsh_tridiagonal         Return the eigenvalues of a real tridiagonal matrix.
expm                         Return the exponential of a matrix.
expm_cond                    Return the condition number of the exponential of a matrix.
expm_frechet                 Return the derivative of the exponential of a matrix.
fiedler                      Return the matrix of distances between numbers.
fiedler_companion            Return a banded matrix whose eigenvalues are a polynomial's roots.
fractional_matrix_power      Raise a matrix to any power.
funm                         Apply a function of numbers to a matrix.
hadamard                     Return a Hadamard matrix.
hankel                       Return a matrix that is constant along its counter-diagonals.
helmert                      Return a Helmert matrix.
hessenberg                   Return a Hessenberg matrix that is similar to a matrix.
hilbert                      Return the Hilbert matrix.
inv                          Invert a matrix.
invhilbert                   Return the inverse of the Hilbert matrix.
invpascal                    Return the inverse of the Pascal matrix.
ishermitian                  Return whether a matrix is Hermitian.
issymmetric                  Return whether a matrix is symmetric.
khatri_rao                   Return the Khatri-Rao product of two matrices.
ldl                          Factor a Hermitian matrix: a = L D L^H.
leslie                       Return a Leslie matrix.
logm                         Return the logarithm of a matrix.
lstsq                        Solve a x = b in the sense of least squares.
lu                           Factor a matrix into triangles: a = P L U.
lu_factor                    Factor a matrix into triangles for `lu_solve`.
lu_solve                     Solve a x = b with what `lu_factor` returned.
matmul_toeplitz              Multiply a Toeplitz matrix with another one.
matrix_balance               Scale and permute a matrix to make its rows and columns alike.
norm                         Return a norm of a vector or a matrix.
null_space                   Return an orthonormal basis of what a matrix maps to zero.
ordqz                        Factor a pair of matrices like `qz`, with eigenvalues in an order.
orth                         Return an orthonormal basis of what a matrix maps to.
orthogonal_procrustes        Return the orthogonal matrix that maps one matrix best to another.
pascal                       Return the Pascal matrix.
pinv                         Return the pseudo-inverse of a matrix.
pinvh                        Return the pseudo-inverse of a Hermitian matrix.
polar                        Factor a matrix into a unitary and a positive semidefinite one.
qr                           Factor a matrix into an orthonormal and a triangular one.
qr_delete                    Factor a matrix that has lost rows or columns.
qr_insert                    Factor a matrix that has got rows or columns.
qr_multiply                  Multiply a matrix with the Q of another one.
qr_update                    Factor a matrix that was changed by a product of vectors.
qz                           Factor a pair of matrices into triangles, by unitary matrices.
rq                           Factor a matrix into a triangular and an orthonormal one.
rsf2csf                      Turn a real Schur form into a complex one.
schur                        Factor a matrix into a triangle, by a unitary matrix.
signm                        Return the sign of a matrix.
sinhm                        Return the hyperbolic sine of a matrix.
sinm                         Return the sine of a matrix.
solve                        Solve a x = b, with what is known of a.
solve_banded                 Solve a x = b, where a is given by its diagonals.
solve_circulant              Solve a x = b, where a is circulant.
solve_continuous_are         Solve the Riccati equation of continuous time.
solve_continuous_lyapunov    Solve a x + x a^H = q.
solve_discrete_are           Solve the Riccati equation of discrete time.
solve_discrete_lyapunov      Solve a x a^H - x + q = 0.
solve_lyapunov               Solve a x + x a^H = q.
solve_sylvester              Solve a x + x b = q.
solve_toeplitz               Solve a x = b, where a is constant along its diagonals.
solve_triangular             Solve a x = b, where a is triangular.
solveh_banded                Solve a x = b, where a is positive definite, given by its diagonals.
sqrtm                        Return the square root of a matrix.
subspace_angles              Return the angles between what two matrices map to.
svd                          Factor a matrix into its singular values and vectors.
svdvals                      Return the singular values of a matrix.
tanhm                        Return the hyperbolic tangent of a matrix.
tanm                         Return the tangent of a matrix.
toeplitz                     Return a matrix that is constant along its diagonals.
""",
)
"""The functions of ``scipy.linalg``."""

OTHERS = _read("numpy", "kron  Multiply each element of an array with all of another.")
"""Functions that NumPy has elsewhere."""

HERE = {**OF_SCIPY, **OTHERS, **OF_NUMPY}
"""The functions of this package: where NumPy and SciPy use one name, NumPy's."""
