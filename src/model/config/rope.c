/* SPDX-License-Identifier: Apache-2.0 */
/* rope.c - rotary frequencies under every scaling rule. */
#include "model/config/rope.h"
#include <math.h>

/* The reference implementation rounds every intermediate result to f32. The frequencies are part of
 * a model's definition, so this file rounds in the same places. As in the reference, pi is a double
 * that is rounded to f32 where it meets f32 operands. */
#define PI 3.14159265358979323846

static float base_power(double theta, uint32_t i, uint32_t dim)
{
    return powf((float)theta, (float)(2 * i) / (float)dim);
}

/* Scales long wavelengths by factor, keeps short ones, and blends between the two. */
static float llama3(const struct qr_rope_config *r, float inv_freq)
{
    const float wavelength = (float)(2 * PI) / inv_freq;
    const float factor = (float)r->factor, low = (float)r->low_freq_factor,
                high = (float)r->high_freq_factor;
    const double context = r->original_context;
    if (wavelength < (float)(context / r->high_freq_factor))
        return inv_freq;
    if (wavelength > (float)(context / r->low_freq_factor))
        return inv_freq / factor;
    const float smooth = ((float)context / wavelength - low) / (float)((double)high - (double)low);
    return (1 - smooth) * inv_freq / factor + smooth * inv_freq;
}

/* The (fractional) dimension that makes `rotations` full turns within the original context. */
static double yarn_dim(const struct qr_rope_config *r, double rotations)
{
    return r->dim * log(r->original_context / (rotations * 2 * PI)) / (2 * log(r->theta));
}

/* Blending weight over the dimensions: 0 up to low, 1 from low + width on. */
struct ramp {
    float low, width;
};

static struct ramp yarn_ramp(const struct qr_rope_config *r)
{
    double low = yarn_dim(r, r->beta_fast), high = yarn_dim(r, r->beta_slow);
    if (r->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, r->dim - 1.0);
    if (low == high)
        high += 0.001; /* avoids a division by zero, as in the reference */
    return (struct ramp){ (float)low, (float)(high - low) };
}

static float yarn(const struct qr_rope_config *r, const struct ramp *ramp, uint32_t i, float power)
{
    const float extrapolated = 1.0f / power, interpolated = 1.0f / ((float)r->factor * power);
    const float keep = 1.0f - fminf(fmaxf(((float)i - ramp->low) / ramp->width, 0.0f), 1.0f);
    return interpolated * (1.0f - keep) + extrapolated * keep;
}

void qr_rope_inv_freq(const struct qr_rope_config *r, uint64_t seq_len, float *inv_freq)
{
    const double length = (double)seq_len, context = r->original_context;
    const bool beyond = r->original_context && seq_len > r->original_context;
    const struct ramp ramp =
        r->scaling == QR_ROPE_SCALING_YARN ? yarn_ramp(r) : (struct ramp){ 0, 1 };
    const float *factors =
        r->scaling == QR_ROPE_SCALING_LONGROPE && beyond ? r->factors_long : r->factors_short;
    double theta = r->theta;
    if (r->scaling == QR_ROPE_SCALING_DYNAMIC && beyond)
        theta *= pow(r->factor * length / context - (r->factor - 1), r->dim / (r->dim - 2.0));
    if (r->scaling == QR_ROPE_SCALING_NTK)
        theta *= r->factor;
    for (uint32_t i = 0; i < r->dim / 2; i++) {
        const float power = base_power(theta, i, r->dim);
        switch (r->scaling) {
        case QR_ROPE_SCALING_LINEAR:
            inv_freq[i] = 1.0f / power / (float)r->factor;
            break;
        case QR_ROPE_SCALING_NTK:
            inv_freq[i] = 1.0f / power / (float)pow(r->factor, 2.0 / r->dim);
            break;
        case QR_ROPE_SCALING_LLAMA3:
            inv_freq[i] = llama3(r, 1.0f / power);
            break;
        case QR_ROPE_SCALING_YARN:
            inv_freq[i] = yarn(r, &ramp, i, power);
            break;
        case QR_ROPE_SCALING_LONGROPE:
            inv_freq[i] = 1.0f / (factors[i] * power);
            break;
        case QR_ROPE_SCALING_FREQ_FACTORS:
            inv_freq[i] = 1.0f / power / (factors[i] * (float)r->factor);
            break;
        default:
            inv_freq[i] = 1.0f / power;
        }
    }
}
