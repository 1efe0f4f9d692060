/* Compiled loops: sums of kernel values, and the pivots of the dense simplex.
 *
 * They do what the NumPy code of `kernels` and of `solvers.lp.tableau` does, up to rounding, and
 * release the interpreter's lock. All arrays are C-contiguous and hold doubles or intp. Loops exist
 * for several instruction sets; the best one that the CPU has is chosen when the module is
 * imported. The environment variable VOTEDKERNELS_CPU=generic chooses the one without vector
 * extensions, so that tests can compute like another CPU.
 */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if PY_SSIZE_T_MAX < INT64_MAX
#error "The loops need a platform with 64 bits; NumPy does their work elsewhere."
#endif

#if defined(_MSC_VER)
#define restrict __restrict
#endif

/* Sums may be reordered into vector lanes, but nothing else may be: the two parts of log 2 must not
 * be joined. GCC adds the lanes of a whole function faster than those of one loop. */
#if defined(__GNUC__)
#define PRAGMA(text) _Pragma(#text)
#define LANES(sum) PRAGMA(omp simd reduction(+ : sum))
#define INDEPENDENT PRAGMA(omp simd)
#else
#define LANES(sum)
#define INDEPENDENT
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define ANY_ORDER __attribute__((optimize("associative-math")))
#else
#define ANY_ORDER
#endif

/* Some rows and consecutive columns (centres) of a stored matrix, and a weight for each row. */
typedef struct {
    const double *first; /* of the centres, in row 0 */
    Py_ssize_t stride, n_rows, n_centers;
    const Py_ssize_t *rows;
    const double *v;
} Stored;

/* Some rows of a base, and vectors of weights on them. Those of row r are entries starts[r] to
 * starts[r + 1] - 1 of `which`, the vectors, and of `v`. */
typedef struct {
    const double *base;
    Py_ssize_t n_rows, n_centers, n_vectors;
    const Py_ssize_t *starts, *which;
    const double *v;
} Several;
/* So many values at a time are added to several sums, few enough for the first-level cache. */
#define TILE 128

/* The constants of `solvers.lp.tableau`. */
#define PIVOT 1e-9
#define TIE 1e-12
#define SMALLEST_NORM 1e-12
enum { GOING, FEASIBLE, STUCK };

/* A nonbasic variable or row that can enter. */
typedef struct {
    double ratio, gain;
    Py_ssize_t place;
} Candidate;

/* See `solvers.lp.tableau.Tableau`. `table`, `left` and `right` are stored by columns. */
typedef struct {
    Py_ssize_t n_slots, n_places, n_kept, together;
    double *table, *left, *right;
    Py_ssize_t *basic, *nonbasic;
    double *values, *lower, *upper, *tolerance, *norms;
    double *at, *side, *width, *reduced;
    double *all_lower, *all_upper, *all_tolerance;
    double *work;
    Candidate *candidates;
} Tableau;

/* Restore the heap, smallest ratio first, after its root has changed. */
static void sift(Candidate *heap, Py_ssize_t size, Py_ssize_t root)
{
    Candidate moving = heap[root];
    for (;;) {
        Py_ssize_t child = 2 * root + 1;
        if (child >= size) break;
        if (child + 1 < size && heap[child + 1].ratio < heap[child].ratio) child++;
        if (!(heap[child].ratio < moving.ratio)) break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moving;
}

/* The place of what enters; -1 if nothing can. What is passed on the way is written to the end of
 * the candidates; it may include what enters. */
static Py_ssize_t long_step(const Tableau *t, const double *row, double off, Py_ssize_t *n_passed)
{
    Candidate *heap = t->candidates;
    double direction = off > 0.0 ? -1.0 : 1.0, covered = 0.0;
    Py_ssize_t size = 0, n_places = t->n_places, end = n_places;
    for (Py_ssize_t j = 0; j < n_places; j++) {
        double gain = row[j] * direction * t->side[j];
        if (gain > PIVOT) {
            heap[size].ratio = fabs(t->reduced[j]) / gain;
            heap[size].gain = gain;
            heap[size++].place = j;
        }
    }
    *n_passed = 0;
    if (size == 0) return -1;
    for (Py_ssize_t i = size / 2; i-- > 0;) sift(heap, size, i);
    /* What leaves the heap is collected from its end downwards, where there is room. */
    Candidate last;
    for (;;) {
        last = heap[0];
        heap[0] = heap[--size];
        if (size > 0) sift(heap, size, 0);
        heap[--end] = last;
        covered += last.gain * t->width[last.place];
        if (covered >= fabs(off) || size == 0) break;
    }
    *n_passed = n_places - end - 1;
    /* Among tied candidates the largest pivot is the safest. */
    Candidate chosen = last;
    for (Py_ssize_t i = end + 1; i < n_places && heap[i].ratio >= last.ratio - TIE; i++)
        if (heap[i].gain > chosen.gain) chosen = heap[i];
    while (size > 0 && heap[0].ratio <= last.ratio + TIE) {
        if (heap[0].gain > chosen.gain) chosen = heap[0];
        heap[0] = heap[--size];
        if (size > 0) sift(heap, size, 0);
    }
    return chosen.place;
}

#define NAME(name) name##_generic
#include "loops.h"
#undef NAME

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define HAS_VECTORS
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define NAME(name) name##_avx2
#include "loops.h"
#undef NAME
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#define NAME(name) name##_avx512
#include "loops.h"
#undef NAME
#pragma GCC pop_options
#endif

/* The loops for one instruction set. */
typedef struct {
    const char *name;
    void (*exponentials)(const double *, double *, Py_ssize_t);
    void (*add_gaussians)(const double *, const double *, const double *, double *, Py_ssize_t,
                          Py_ssize_t, Py_ssize_t);
    void (*add_powers_to_5)(const double *, const double *, double *, Py_ssize_t, Py_ssize_t);
    void (*add_powers_to_10)(const double *, const double *, double *, Py_ssize_t, Py_ssize_t);
    void (*add_stored_gaussians)(const Stored *, const double *, double *, Py_ssize_t);
    void (*add_stored_powers_to_3)(const Stored *, double *);
    void (*add_stored_powers_to_5)(const Stored *, double *);
    void (*add_stored_powers_to_10)(const Stored *, double *);
    void (*add_gaussians_to_several)(const Several *, const double *, double *, Py_ssize_t);
    void (*add_powers_to_several)(const Several *, double *, Py_ssize_t);
    int (*pivot)(Tableau *, Py_ssize_t, Py_ssize_t *);
} Loops;

#define LOOPS(cpu)                                                                                 \
    {#cpu, exponentials_##cpu, add_gaussians_##cpu, add_powers_to_5_##cpu, add_powers_to_10_##cpu, \
     add_stored_gaussians_##cpu, add_stored_powers_to_3_##cpu, add_stored_powers_to_5_##cpu,       \
     add_stored_powers_to_10_##cpu, add_gaussians_to_several_##cpu, add_powers_to_several_##cpu,   \
     pivot_##cpu}
static const Loops generic_loops = LOOPS(generic);
#if defined(HAS_VECTORS)
static const Loops avx2_loops = LOOPS(avx2), avx512_loops = LOOPS(avx512);
#endif
static const Loops *loops = &generic_loops;

static void choose_loops(void)
{
    const char *wish = getenv("VOTEDKERNELS_CPU");
    if (wish != NULL && strcmp(wish, "generic") == 0) return;
#if defined(HAS_VECTORS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) loops = &avx2_loops;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        loops = &avx512_loops;
#endif
}

/* -- arrays from Python ------------------------------------------------------------------- */

#define MOST_ARRAYS 20

/* The arrays of one call, to be released together. */
typedef struct {
    Py_buffer views[MOST_ARRAYS];
    int n;
} Arrays;

/* The entries of an array; NULL, with an exception, if it does not have this many of 8 bytes. */
static void *entries(Arrays *arrays, PyObject *array, Py_ssize_t size)
{
    Py_buffer *view = &arrays->views[arrays->n];
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    arrays->n++;
    if (view->itemsize != 8 || view->len != 8 * size) {
        PyErr_Format(PyExc_ValueError, "array %d must have %zd entries of 8 bytes", arrays->n, size);
        return NULL;
    }
    return view->buf;
}

/* The same, for a matrix whose shape is returned. */
static void *matrix(Arrays *arrays, PyObject *array, Py_ssize_t *rows, Py_ssize_t *columns)
{
    Py_buffer *view = &arrays->views[arrays->n];
    if (PyObject_GetBuffer(array, view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    arrays->n++;
    if (view->itemsize != 8 || view->ndim != 2) {
        PyErr_Format(PyExc_ValueError, "array %d must be a matrix of doubles", arrays->n);
        return NULL;
    }
    *rows = view->shape[0];
    *columns = view->shape[1];
    return view->buf;
}

static PyObject *finished(Arrays *arrays, PyObject *result)
{
    for (int i = 0; i < arrays->n; i++) PyBuffer_Release(&arrays->views[i]);
    return result;
}

static PyObject *nothing(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

static int counted(Py_ssize_t given, Py_ssize_t wanted)
{
    if (given == wanted) return 1;
    PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", wanted, given);
    return 0;
}

static PyObject *py_exponentials(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 2)) return NULL;
    Arrays arrays = {.n = 0};
    Py_ssize_t rows, columns;
    const double *x = matrix(&arrays, args[0], &rows, &columns);
    if (x == NULL) return finished(&arrays, NULL);
    double *out = entries(&arrays, args[1], rows * columns);
    if (out == NULL) return finished(&arrays, NULL);
    Py_BEGIN_ALLOW_THREADS
    loops->exponentials(x, out, rows * columns);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

static PyObject *py_add_gaussians(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 4)) return NULL;
    Arrays arrays = {.n = 0};
    Py_ssize_t n_centers, n_rows, n_gammas, width;
    const double *base = matrix(&arrays, args[0], &n_centers, &n_rows);
    if (base == NULL) return finished(&arrays, NULL);
    double *out = matrix(&arrays, args[3], &n_gammas, &width);
    if (out == NULL) return finished(&arrays, NULL);
    const double *v = entries(&arrays, args[1], n_rows);
    if (v == NULL) return finished(&arrays, NULL);
    const double *gammas = entries(&arrays, args[2], n_gammas);
    if (gammas == NULL) return finished(&arrays, NULL);
    if (width != n_centers) {
        PyErr_SetString(PyExc_ValueError, "out must have a column for each row of base");
        return finished(&arrays, NULL);
    }
    Py_BEGIN_ALLOW_THREADS
    loops->add_gaussians(base, v, gammas, out, n_centers, n_rows, n_gammas);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

static PyObject *py_add_powers(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 3)) return NULL;
    Arrays arrays = {.n = 0};
    Py_ssize_t n_centers, n_rows, n_powers, width;
    const double *base = matrix(&arrays, args[0], &n_centers, &n_rows);
    if (base == NULL) return finished(&arrays, NULL);
    double *out = matrix(&arrays, args[2], &n_powers, &width);
    if (out == NULL) return finished(&arrays, NULL);
    const double *v = entries(&arrays, args[1], n_rows);
    if (v == NULL) return finished(&arrays, NULL);
    if (width != n_centers || (n_powers != 5 && n_powers != 10)) {
        PyErr_SetString(PyExc_ValueError,
                        "out must have 5 or 10 rows, and a column for each row of base");
        return finished(&arrays, NULL);
    }
    Py_BEGIN_ALLOW_THREADS
    (n_powers == 5 ? loops->add_powers_to_5 : loops->add_powers_to_10)(base, v, out, n_centers,
                                                                       n_rows);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

/* The rows args[1] of the matrix args[0], with weights args[2], and its columns from args[3] on: as
 * many as the matrix args[4] has, whose number of rows is returned; NULL with an exception. */
static double *stored_sums(Arrays *arrays, PyObject *const *args, Stored *stored, Py_ssize_t *n)
{
    Py_ssize_t total, first = PyLong_AsSsize_t(args[3]);
    if (first == -1 && PyErr_Occurred()) return NULL;
    const double *base = matrix(arrays, args[0], &total, &stored->stride);
    if (base == NULL) return NULL;
    double *out = matrix(arrays, args[4], n, &stored->n_centers);
    if (out == NULL) return NULL;
    if (PyObject_GetBuffer(args[1], &arrays->views[arrays->n], PyBUF_C_CONTIGUOUS) < 0) return NULL;
    stored->n_rows = arrays->views[arrays->n++].len / 8;
    stored->rows = arrays->views[arrays->n - 1].buf;
    if (arrays->views[arrays->n - 1].itemsize != 8) {
        PyErr_SetString(PyExc_ValueError, "rows must have entries of 8 bytes");
        return NULL;
    }
    if ((stored->v = entries(arrays, args[2], stored->n_rows)) == NULL) return NULL;
    int inside = first >= 0 && first + stored->n_centers <= stored->stride;
    for (Py_ssize_t r = 0; r < stored->n_rows; r++)
        inside &= stored->rows[r] >= 0 && stored->rows[r] < total;
    if (!inside) {
        PyErr_SetString(PyExc_IndexError, "rows or centres are not in the matrix");
        return NULL;
    }
    stored->first = base + first;
    return out;
}

static PyObject *py_add_stored_gaussians(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 6)) return NULL;
    Arrays arrays = {.n = 0};
    Stored stored;
    Py_ssize_t n_gammas;
    double *out = stored_sums(&arrays, args, &stored, &n_gammas);
    if (out == NULL) return finished(&arrays, NULL);
    const double *gammas = entries(&arrays, args[5], n_gammas);
    if (gammas == NULL) return finished(&arrays, NULL);
    Py_BEGIN_ALLOW_THREADS
    loops->add_stored_gaussians(&stored, gammas, out, n_gammas);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

static PyObject *py_add_stored_powers(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 5)) return NULL;
    Arrays arrays = {.n = 0};
    Stored stored;
    Py_ssize_t n_powers;
    double *out = stored_sums(&arrays, args, &stored, &n_powers);
    if (out == NULL) return finished(&arrays, NULL);
    if (n_powers != 3 && n_powers != 5 && n_powers != 10) {
        PyErr_SetString(PyExc_ValueError, "out must have 3, 5 or 10 rows");
        return finished(&arrays, NULL);
    }
    Py_BEGIN_ALLOW_THREADS
    (n_powers == 3   ? loops->add_stored_powers_to_3
     : n_powers == 5 ? loops->add_stored_powers_to_5
                     : loops->add_stored_powers_to_10)(&stored, out);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

/* The base args[0] with the weights args[1] to args[3]; the sums are in args[4], where the rows of
 * kernel k follow those of kernel k - 1, and `n_vectors` is args[5]. NULL with an exception. */
static double *several_sums(Arrays *arrays, PyObject *const *args, Several *several, Py_ssize_t *n)
{
    Py_ssize_t width, sums, sizes[2];
    several->n_vectors = PyLong_AsSsize_t(args[5]);
    if (several->n_vectors == -1 && PyErr_Occurred()) return NULL;
    several->base = matrix(arrays, args[0], &several->n_rows, &several->n_centers);
    if (several->base == NULL) return NULL;
    double *out = matrix(arrays, args[4], &sums, &width);
    if (out == NULL) return NULL;
    for (int i = 0; i < 2; i++) {
        Py_buffer *view = &arrays->views[arrays->n];
        if (PyObject_GetBuffer(args[1 + i], view, PyBUF_C_CONTIGUOUS) < 0) return NULL;
        arrays->n++;
        sizes[i] = view->itemsize == 8 ? view->len / 8 : -1;
        *(i == 0 ? &several->starts : &several->which) = view->buf;
    }
    if (several->n_vectors < 1 || sums % several->n_vectors != 0 || width != several->n_centers ||
        sizes[0] != several->n_rows + 1 || sizes[1] < 0) {
        PyErr_SetString(PyExc_ValueError, "starts or out do not fit the base and the vectors");
        return NULL;
    }
    *n = sums / several->n_vectors;
    if ((several->v = entries(arrays, args[3], sizes[1])) == NULL) return NULL;
    int inside = several->starts[0] >= 0 && several->starts[several->n_rows] <= sizes[1];
    for (Py_ssize_t r = 0; r < several->n_rows; r++)
        inside &= several->starts[r] <= several->starts[r + 1];
    for (Py_ssize_t e = 0; e < sizes[1]; e++)
        inside &= several->which[e] >= 0 && several->which[e] < several->n_vectors;
    if (!inside) {
        PyErr_SetString(PyExc_IndexError, "an entry is outside the arrays");
        return NULL;
    }
    return out;
}

static PyObject *py_add_gaussians_to_several(PyObject *self, PyObject *const *args,
                                             Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 7)) return NULL;
    Arrays arrays = {.n = 0};
    Several several;
    Py_ssize_t n_gammas;
    double *out = several_sums(&arrays, args, &several, &n_gammas);
    if (out == NULL) return finished(&arrays, NULL);
    const double *gammas = entries(&arrays, args[6], n_gammas);
    if (gammas == NULL) return finished(&arrays, NULL);
    Py_BEGIN_ALLOW_THREADS
    loops->add_gaussians_to_several(&several, gammas, out, n_gammas);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

static PyObject *py_add_powers_to_several(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 6)) return NULL;
    Arrays arrays = {.n = 0};
    Several several;
    Py_ssize_t n_powers;
    double *out = several_sums(&arrays, args, &several, &n_powers);
    if (out == NULL) return finished(&arrays, NULL);
    Py_BEGIN_ALLOW_THREADS
    loops->add_powers_to_several(&several, out, n_powers);
    Py_END_ALLOW_THREADS
    return finished(&arrays, nothing());
}

/* pivot(n_kept, limit, table, left, right, basic, ...) -> (outcome, done, n_kept) */
static PyObject *py_pivot(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    (void)self;
    if (!counted(n_args, 19)) return NULL;
    Py_ssize_t n_kept = PyLong_AsSsize_t(args[0]), limit = PyLong_AsSsize_t(args[1]), done = 0;
    if (PyErr_Occurred()) return NULL;
    Arrays arrays = {.n = 0};
    Tableau t = {.n_kept = n_kept};
    Py_ssize_t n, m, total;
    if ((t.table = matrix(&arrays, args[2], &n, &m)) == NULL) return finished(&arrays, NULL);
    if ((t.left = matrix(&arrays, args[3], &t.together, &total)) == NULL || total != m) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "left must match the table");
        return finished(&arrays, NULL);
    }
    t.n_places = n;
    t.n_slots = m;
    total = n + m;
    struct {
        void *target;
        Py_ssize_t size;
    } fields[] = {
        {&t.right, t.together * n}, {&t.basic, m}, {&t.nonbasic, n},
        {&t.values, m}, {&t.lower, m}, {&t.upper, m}, {&t.tolerance, m}, {&t.norms, m},
        {&t.at, n}, {&t.side, n}, {&t.width, n}, {&t.reduced, n},
        {&t.all_lower, total}, {&t.all_upper, total}, {&t.all_tolerance, total},
    };
    for (int i = 0; i < 15; i++) {
        void *found = entries(&arrays, args[4 + i], fields[i].size);
        if (found == NULL) return finished(&arrays, NULL);
        memcpy(fields[i].target, &found, sizeof found);
    }
    if (n_kept < 0 || n_kept > t.together) {
        PyErr_SetString(PyExc_ValueError, "n_kept is out of range");
        return finished(&arrays, NULL);
    }
    t.work = malloc(sizeof(double) * (size_t)(total + t.together + 1));
    t.candidates = malloc(sizeof(Candidate) * (size_t)(n + 1));
    int outcome = GOING;
    if (t.work != NULL && t.candidates != NULL) {
        Py_BEGIN_ALLOW_THREADS
        outcome = loops->pivot(&t, limit, &done);
        Py_END_ALLOW_THREADS
    }
    else
        PyErr_NoMemory();
    free(t.work);
    free(t.candidates);
    if (PyErr_Occurred()) return finished(&arrays, NULL);
    return finished(&arrays, Py_BuildValue("inn", outcome, done, t.n_kept));
}

/* -- the module --------------------------------------------------------------------------- */

#define METHOD(name, text) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL, text}
static PyMethodDef methods[] = {
    METHOD(exponentials, "exponentials(x, out): write exp(x) for a matrix of numbers <= 1."),
    METHOD(add_gaussians,
           "add_gaussians(base, v, gammas, out): add sum_i v_i exp(-gamma_k base_ji) to out_kj."),
    METHOD(add_powers,
           "add_powers(base, v, out): add sum_i v_i base_ji^(k+1) to out_kj, for 5 or 10 rows k."),
    METHOD(add_stored_gaussians,
           "add_stored_gaussians(base, rows, v, first, out, gammas): the same for some rows of a "
           "matrix and its columns from `first` on."),
    METHOD(add_stored_powers,
           "add_stored_powers(base, rows, v, first, out): the same for 3, 5 or 10 powers."),
    METHOD(add_gaussians_to_several,
           "add_gaussians_to_several(base, starts, which, v, out, n_vectors, gammas): add the sums "
           "of several vectors; those of row r are v[starts[r]:starts[r + 1]]."),
    METHOD(add_powers_to_several,
           "add_powers_to_several(base, starts, which, v, out, n_vectors): the same for powers."),
    METHOD(pivot, "pivot(n_kept, limit, ...): return (outcome, done, n_kept); see `Tableau`."),
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module)
{
    choose_loops();
    return PyModule_AddStringConstant(module, "CPU", loops->name);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_loops",
    .m_doc = "Compiled loops; `votedkernels._native` says when they are used.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__loops(void) { return PyModuleDef_Init(&definition); }
