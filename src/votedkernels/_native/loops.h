/* The compiled loops. module.c includes this file once per instruction set; NAME() adds its suffix.
 *
 * Matrices are passed with their leading dimension being the first one: m[i * n + j] is row i.
 */

/* -- sums of kernel values ---------------------------------------------------------------- */

/* exp(x) for x <= 1, without branches, so that it runs in vector lanes.
 *
 * exp(x) = 2^n exp(r) with n = round(x / log 2) and |r| <= log(2)/2. This range reduction, with
 * log 2 in two parts, is that of Cody and Waite (Software Manual for the Elementary Functions,
 * 1980). The first part has 32 bits, so n times it is exact. Adding 1.5 * 2^52 rounds to an
 * integer; the low bits of the sum are n, and they are added to the exponent bits of exp(r).
 * exp(r) is the Taylor polynomial of degree 17, whose terms beyond r^11 are replaced one by one by
 * polynomials of lower degree (Chebyshev). Its error is at most 1.6e-17.
 *
 * The relative error is below 2.5e-16 from x = 0 down to -708, where values are 3e-308. Below
 * -708 the result is exp(-708). exp(0) is exactly 1. Squared distances that rounding has made
 * negative need not be set to 0 first: the result is wrong by no more than that rounding.
 */
static inline double NAME(exponential)(double x)
{
    const double whole = 6755399441055744.0;
    x = x < -708.0 ? -708.0 : x;
    double shifted = x * 1.4426950408889634 + whole;
    double n = shifted - whole;
    double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 2.511487021947156e-08;
    p = p * r + 2.763264067539136e-07;
    p = p * r + 2.7557224956110785e-06;
    p = p * r + 2.4801485479216512e-05;
    p = p * r + 0.00019841269909219843;
    p = p * r + 0.0013888888952318045;
    p = p * r + 0.008333333333309526;
    p = p * r + 0.04166666666648808;
    p = p * r + 0.16666666666666702;
    p = p * r + 0.5000000000000019;
    p = p * r + 1.0;
    p = p * r + 1.0;
    union { double value; uint64_t bits; } number, result;
    number.value = shifted;
    result.value = p;
    result.bits += number.bits << 52;
    return result.value;
}

static void NAME(exponentials)(const double *x, double *out, Py_ssize_t size)
{
    for (Py_ssize_t i = 0; i < size; i++) out[i] = NAME(exponential)(x[i]);
}

/* Add sum_i v_i exp(-gamma_k base_ji) to out_kj. */
static void NAME(add_gaussians)(const double *base, const double *v, const double *gammas,
                                double *out, Py_ssize_t n_centers, Py_ssize_t n_rows,
                                Py_ssize_t n_gammas)
{
    for (Py_ssize_t j = 0; j < n_centers; j++) {
        const double *row = base + j * n_rows;
        for (Py_ssize_t k = 0; k < n_gammas; k++) {
            double gamma = gammas[k], total = 0.0;
            LANES(total)
            for (Py_ssize_t i = 0; i < n_rows; i++)
                total += v[i] * NAME(exponential)(-gamma * row[i]);
            out[k * n_centers + j] += total;
        }
    }
}

/* Add sum_i v_i base_ji^k to out_kj for the powers k = 1 to 5. The sums stay in registers. */
ANY_ORDER
static void NAME(add_powers_to_5)(const double *base, const double *v, double *out,
                                  Py_ssize_t n_centers, Py_ssize_t n_rows)
{
    for (Py_ssize_t j = 0; j < n_centers; j++) {
        const double *row = base + j * n_rows;
        double s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0;
        for (Py_ssize_t i = 0; i < n_rows; i++) {
            double b = row[i], p = v[i] * b;
            s1 += p;
            p *= b;
            s2 += p;
            p *= b;
            s3 += p;
            p *= b;
            s4 += p;
            p *= b;
            s5 += p;
        }
        double sums[] = {s1, s2, s3, s4, s5};
        for (int k = 0; k < 5; k++) out[k * n_centers + j] += sums[k];
    }
}

/* The same for the powers 1 to 10. */
ANY_ORDER
static void NAME(add_powers_to_10)(const double *base, const double *v, double *out,
                                   Py_ssize_t n_centers, Py_ssize_t n_rows)
{
    for (Py_ssize_t j = 0; j < n_centers; j++) {
        const double *row = base + j * n_rows;
        double s1 = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, s5 = 0.0;
        double s6 = 0.0, s7 = 0.0, s8 = 0.0, s9 = 0.0, s10 = 0.0;
        for (Py_ssize_t i = 0; i < n_rows; i++) {
            double b = row[i], p = v[i] * b;
            s1 += p;
            p *= b;
            s2 += p;
            p *= b;
            s3 += p;
            p *= b;
            s4 += p;
            p *= b;
            s5 += p;
            p *= b;
            s6 += p;
            p *= b;
            s7 += p;
            p *= b;
            s8 += p;
            p *= b;
            s9 += p;
            p *= b;
            s10 += p;
        }
        double sums[] = {s1, s2, s3, s4, s5, s6, s7, s8, s9, s10};
        for (int k = 0; k < 10; k++) out[k * n_centers + j] += sums[k];
    }
}

/* Add sum_r v_r exp(-gamma_k base_rj) to out_kj, for some rows r and consecutive centres j of a
 * stored matrix. */
static void NAME(add_stored_gaussians)(const Stored *stored, const double *gammas, double *out,
                                       Py_ssize_t n_gammas)
{
    for (Py_ssize_t r = 0; r < stored->n_rows; r++) {
        const double *restrict row = stored->first + stored->rows[r] * stored->stride;
        double v = stored->v[r];
        for (Py_ssize_t k = 0; k < n_gammas; k++) {
            double gamma = gammas[k], *restrict sums = out + k * stored->n_centers;
            for (Py_ssize_t j = 0; j < stored->n_centers; j++)
                sums[j] += v * NAME(exponential)(-gamma * row[j]);
        }
    }
}

static inline void NAME(add_stored_powers)(const Stored *stored, double *restrict out, const int most)
{
    for (Py_ssize_t r = 0; r < stored->n_rows; r++) {
        const double *restrict row = stored->first + stored->rows[r] * stored->stride;
        double v = stored->v[r];
        Py_ssize_t n = stored->n_centers;
        INDEPENDENT
        for (Py_ssize_t j = 0; j < n; j++) {
            double b = row[j], p = v;
            for (int k = 0; k < most; k++) {
                p *= b;
                out[k * n + j] += p;
            }
        }
    }
}

/* The same for powers of the base; the number of powers must be known to the compiler. */
static void NAME(add_stored_powers_to_3)(const Stored *stored, double *out)
{
    NAME(add_stored_powers)(stored, out, 3);
}

static void NAME(add_stored_powers_to_5)(const Stored *stored, double *out)
{
    NAME(add_stored_powers)(stored, out, 5);
}

static void NAME(add_stored_powers_to_10)(const Stored *stored, double *out)
{
    NAME(add_stored_powers)(stored, out, 10);
}

/* Add the values of kernel k at row r and some centres to the sums of all vectors that weigh r. */
static inline void NAME(share)(const Several *several, Py_ssize_t r, Py_ssize_t k,
                               Py_ssize_t start, const double *restrict values, Py_ssize_t width,
                               double *out)
{
    for (Py_ssize_t e = several->starts[r]; e < several->starts[r + 1]; e++) {
        Py_ssize_t vector = k * several->n_vectors + several->which[e];
        double v = several->v[e], *restrict sums = out + vector * several->n_centers + start;
        for (Py_ssize_t j = 0; j < width; j++) sums[j] += v * values[j];
    }
}

/* Compute each value of some rows once, and add it to the sums of all vectors that weigh its row:
 * add sum_r v_cr exp(-gamma_k base_rj) to out_kcj. */
static void NAME(add_gaussians_to_several)(const Several *several, const double *gammas,
                                           double *out, Py_ssize_t n_gammas)
{
    double values[TILE];
    for (Py_ssize_t start = 0; start < several->n_centers; start += TILE) {
        Py_ssize_t width = several->n_centers - start < TILE ? several->n_centers - start : TILE;
        for (Py_ssize_t k = 0; k < n_gammas; k++)
            for (Py_ssize_t r = 0; r < several->n_rows; r++) {
                const double *row = several->base + r * several->n_centers + start;
                double gamma = gammas[k];
                for (Py_ssize_t j = 0; j < width; j++)
                    values[j] = NAME(exponential)(-gamma * row[j]);
                NAME(share)(several, r, k, start, values, width, out);
            }
    }
}

/* The same for the powers k + 1 of the base. */
static void NAME(add_powers_to_several)(const Several *several, double *out, Py_ssize_t n_powers)
{
    double values[TILE];
    for (Py_ssize_t start = 0; start < several->n_centers; start += TILE) {
        Py_ssize_t width = several->n_centers - start < TILE ? several->n_centers - start : TILE;
        for (Py_ssize_t r = 0; r < several->n_rows; r++) {
            const double *row = several->base + r * several->n_centers + start;
            for (Py_ssize_t j = 0; j < width; j++) values[j] = 1.0;
            for (Py_ssize_t k = 0; k < n_powers; k++) {
                for (Py_ssize_t j = 0; j < width; j++) values[j] *= row[j];
                NAME(share)(several, r, k, start, values, width, out);
            }
        }
    }
}

/* -- pivots ------------------------------------------------------------------------------- */

/* y += a x */
static inline void NAME(add_multiple)(double a, const double *x, double *y, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) y[i] += a * x[i];
}

/* The slot whose value is farthest outside its bounds, relative to its norm; -1 if there is none.
 * *off is by how much it is above its upper bound or, if negative, below its lower bound. */
static Py_ssize_t NAME(most_infeasible)(const Tableau *t, double *off)
{
    Py_ssize_t slot = -1;
    double best = 0.0;
    for (Py_ssize_t i = 0; i < t->n_slots; i++) {
        double below = t->lower[i] - t->values[i], above = t->values[i] - t->upper[i];
        double size = above > below ? above : below;
        double score = size > t->tolerance[i] ? size * size / t->norms[i] : 0.0;
        if (score > best) {
            best = score;
            slot = i;
            *off = above > below ? above : -below;
        }
    }
    return slot;
}

/* Write a row of T. */
static void NAME(row_of)(const Tableau *t, Py_ssize_t slot, double *restrict row)
{
    for (Py_ssize_t j = 0; j < t->n_places; j++) row[j] = t->table[j * t->n_slots + slot];
    for (Py_ssize_t k = 0; k < t->n_kept; k++)
        NAME(add_multiple)(t->left[k * t->n_slots + slot], t->right + k * t->n_places, row,
                           t->n_places);
}

/* Write a column of T. */
static void NAME(column_of)(const Tableau *t, Py_ssize_t place, double *restrict column)
{
    const double *stored = t->table + place * t->n_slots;
    for (Py_ssize_t i = 0; i < t->n_slots; i++) column[i] = stored[i];
    for (Py_ssize_t k = 0; k < t->n_kept; k++)
        NAME(add_multiple)(t->right[k * t->n_places + place], t->left + k * t->n_slots, column,
                           t->n_slots);
}

/* Move what is in some places to its other bound. */
static void NAME(flip)(const Tableau *t, const Candidate *passed, Py_ssize_t n_passed,
                       Py_ssize_t except)
{
    double *factors = t->work + t->n_places + t->n_slots;
    for (Py_ssize_t k = 0; k < t->n_kept; k++) factors[k] = 0.0;
    for (Py_ssize_t p = 0; p < n_passed; p++) {
        Py_ssize_t place = passed[p].place;
        if (place == except) continue;
        double change = t->side[place] * t->width[place];
        NAME(add_multiple)(change, t->table + place * t->n_slots, t->values, t->n_slots);
        for (Py_ssize_t k = 0; k < t->n_kept; k++)
            factors[k] += change * t->right[k * t->n_places + place];
        t->at[place] += change;
        t->side[place] = -t->side[place];
    }
    for (Py_ssize_t k = 0; k < t->n_kept; k++)
        if (factors[k] != 0.0)
            NAME(add_multiple)(factors[k], t->left + k * t->n_slots, t->values, t->n_slots);
}

/* Move the value in a slot to the bound that it exceeds, by moving what is in a place. The two
 * then change roles. */
static void NAME(exchange)(Tableau *t, Py_ssize_t slot, Py_ssize_t place, int above,
                           const double *row, const double *column)
{
    double pivot = row[place], norm = t->norms[slot];
    double bound = above ? t->upper[slot] : t->lower[slot];
    double move = (bound - t->values[slot]) / pivot, step = t->reduced[place] / pivot;
    double *left = t->left + t->n_kept * t->n_slots, *right = t->right + t->n_kept * t->n_places;
    for (Py_ssize_t i = 0; i < t->n_slots; i++) {
        double factor = column[i] / pivot, grown = factor * factor * norm;
        t->norms[i] = grown > t->norms[i] ? grown : t->norms[i];
        t->values[i] += move * column[i];
        left[i] = -factor;
    }
    for (Py_ssize_t j = 0; j < t->n_places; j++) {
        t->reduced[j] -= step * row[j];
        right[j] = row[j];
    }
    double own = norm / (pivot * pivot);
    t->norms[slot] = own > SMALLEST_NORM ? own : SMALLEST_NORM;
    t->values[slot] = t->at[place] + move;
    t->reduced[place] = step;
    left[slot] -= 1.0 / pivot;
    right[place] -= 1.0;
    Py_ssize_t entering = t->nonbasic[place], leaving = t->basic[slot];
    t->basic[slot] = entering;
    t->nonbasic[place] = leaving;
    t->lower[slot] = t->all_lower[entering];
    t->upper[slot] = t->all_upper[entering];
    t->tolerance[slot] = t->all_tolerance[entering];
    t->at[place] = bound;
    t->width[place] = t->all_upper[leaving] - t->all_lower[leaving];
    t->side[place] = t->width[place] == 0.0 ? 0.0 : above ? -1.0 : 1.0;
    t->n_kept += 1;
}

/* Do pivots until there are `limit`, until the products of so many are kept, or until the basis is
 * feasible or stuck. */
static int NAME(pivot)(Tableau *t, Py_ssize_t limit, Py_ssize_t *done)
{
    double *row = t->work, *column = t->work + t->n_places, off = 0.0;
    for (*done = 0; *done < limit && t->n_kept < t->together; ++*done) {
        Py_ssize_t slot = NAME(most_infeasible)(t, &off);
        if (slot < 0) return FEASIBLE;
        NAME(row_of)(t, slot, row);
        Py_ssize_t n_passed, place = long_step(t, row, off, &n_passed);
        if (place < 0) return STUCK;
        NAME(column_of)(t, place, column);
        NAME(flip)(t, t->candidates + t->n_places - n_passed, n_passed, place);
        NAME(exchange)(t, slot, place, off > 0.0, row, column);
    }
    return GOING;
}
