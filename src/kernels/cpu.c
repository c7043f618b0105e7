/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c - CPU feature detection; the only file that executes cpuid or xgetbv. */
#include "kernels/cpu.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    uint32_t bit;
    const char *name;
} feature_names[] = {
    { QR_CPU_AVX2, "AVX2+FMA+F16C+BMI2" },
    { QR_CPU_AVX_VNNI, "AVX-VNNI" },
    { QR_CPU_AVX512, "AVX512-F/BW/DQ/VL" },
    { QR_CPU_AVX512_VNNI, "AVX512-VNNI" },
    { QR_CPU_AVX512_VBMI, "AVX512-VBMI" },
    { QR_CPU_AVX512_BF16, "AVX512-BF16" },
    { QR_CPU_AMX, "AMX-TILE/BF16/INT8" },
    { QR_CPU_AMX_PERMITTED, "the OS's permission to use AMX (quire_cpu_allow_amx)" },
    { QR_CPU_NEON, "Advanced SIMD" },
    { QR_CPU_DOTPROD, "dotprod" },
    { QR_CPU_I8MM, "i8mm" },
    { QR_CPU_SVE_I8MM, "SVE with i8mm" },
    { QR_CPU_SVE_256_BITS, "an SVE vector length of 256 bits" },
};

void qr_cpu_feature_names(uint32_t bits, char *out, size_t out_size)
{
    size_t used = 0;
    if (out_size)
        out[0] = 0;
    for (size_t i = 0; i < sizeof feature_names / sizeof feature_names[0]; i++) {
        if (!(bits & feature_names[i].bit) || used >= out_size)
            continue;
        const int n =
            snprintf(out + used, out_size - used, "%s%s", used ? ", " : "", feature_names[i].name);
        used += n > 0 ? (size_t)n : 0;
    }
}

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t xgetbv0(void)
{
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static bool has(uint32_t word, uint32_t mask) { return (word & mask) == mask; }

enum { XCR0_YMM = 0x6, XCR0_ZMM = 0xe6, XCR0_TILES = 0x60000 };

uint32_t qr_cpu_features(void)
{
    uint32_t a, b, c, d, features = 0;
    const uint32_t osxsave_avx = 1u << 27 | 1u << 28, fma = 1u << 12, f16c = 1u << 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, osxsave_avx))
        return 0;
    const uint32_t leaf1_c = c;
    const uint32_t xcr0 = (uint32_t)xgetbv0();
    if (!has(xcr0, XCR0_YMM) || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    const uint32_t leaf7_b = b, leaf7_c = c, leaf7_d = d;
    uint32_t leaf71_a = 0;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
        leaf71_a = a;
    if (has(leaf7_b, 1u << 5 | 1u << 8) && has(leaf1_c, fma | f16c)) /* AVX2, BMI2 */
        features |= QR_CPU_AVX2;
    if (features && has(leaf71_a, 1u << 4))
        features |= QR_CPU_AVX_VNNI;
    if (features && has(xcr0, XCR0_ZMM) &&
        has(leaf7_b, 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31)) {
        features |= QR_CPU_AVX512;
        features |= has(leaf7_c, 1u << 11) ? QR_CPU_AVX512_VNNI : 0;
        features |= has(leaf7_c, 1u << 1) ? QR_CPU_AVX512_VBMI : 0;
        features |= has(leaf71_a, 1u << 5) ? QR_CPU_AVX512_BF16 : 0;
    }
    if (features & QR_CPU_AVX512_BF16 && has(xcr0, XCR0_TILES) &&
        has(leaf7_d, 1u << 22 | 1u << 24 | 1u << 25))
        features |= QR_CPU_AMX;
    return features;
}

#if defined(__linux__) && defined(SYS_arch_prctl)
/* Codes of arch_prctl(2), Linux 5.16; older headers lack their names. */
enum { GET_PERMITTED = 0x1022, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

bool qr_cpu_amx_permitted(void)
{
    uint64_t permitted = 0;
    return syscall(SYS_arch_prctl, GET_PERMITTED, &permitted) == 0 && permitted >> TILE_DATA & 1;
}

int qr_cpu_request_amx(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 ? 0 : errno;
}
#else
bool qr_cpu_amx_permitted(void) { return false; }
int qr_cpu_request_amx(void) { return ENOSYS; }
#endif

/* Family, model and stepping of a CPU of this vendor (EBX of CPUID leaf 0), as EAX of leaf 1 packs
 * them; 0 for other vendors. */
static uint32_t packed_model(uint32_t vendor)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != vendor)
        return 0;
    return __get_cpuid(1, &a, &b, &c, &d) ? a : 0;
}

/* Base and extended model. */
static uint32_t model_of(uint32_t packed) { return (packed >> 4 & 15) | (packed >> 12 & 0xf0); }

bool qr_cpu_slow_vdpbf16ps(void)
{
    /* Cooper Lake starts one each cycle; it shares its model number with Skylake. */
    enum { COOPER_LAKE = 0x55 };
    const uint32_t a = packed_model(signature_INTEL_ebx);
    return (a >> 8 & 15) == 6 && model_of(a) != COOPER_LAKE;
}

/* Whether the CPU of family 19h with this model is a Zen 3 (models 00h to 0Fh and 20h to 5Fh); the
 * others are Zen 4. */
static bool is_zen3(uint32_t model) { return model < 0x10 || (model >= 0x20 && model < 0x60); }

enum qr_cpu_streams qr_cpu_followed_streams(void)
{
    const uint32_t a = packed_model(signature_AMD_ebx);
    switch ((a >> 8 & 15) + (a >> 20 & 0xff)) { /* base and extended family */
    case 0x19:
        return is_zen3(model_of(a)) ? QR_CPU_STREAMS_WIDE : QR_CPU_STREAMS_ALL;
    case 0x1a: /* Zen 5 */
        return QR_CPU_STREAMS_WIDE;
    default:
        return QR_CPU_STREAMS_NONE;
    }
}

const char *qr_cpu_brand(void)
{
    static _Thread_local char brand[49];
    uint32_t r[12];
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u) /* clang: int */
        return "unknown";
    for (uint32_t i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]);
    memcpy(brand, r, 48);
    size_t n = 48;
    while (n > 0 && (brand[n - 1] == ' ' || brand[n - 1] == 0))
        n--;
    brand[n] = 0;
    const char *p = brand;
    while (*p == ' ')
        p++;
    return *p ? p : "unknown";
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

/* Vector length of SVE for this thread, in bytes; the CPU must have SVE. An instruction word,
 * because this file is compiled for CPUs without SVE. */
static uint64_t sve_bytes(void)
{
    register uint64_t bytes __asm__("x0");
    __asm__ volatile(".inst 0x04bf5020" : "=r"(bytes)); /* rdvl x0, #1 */
    return bytes;
}

uint32_t qr_cpu_features(void)
{
    const unsigned long hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2);
    uint32_t features = hwcap & (1ul << 1) ? QR_CPU_NEON : 0;  /* HWCAP_ASIMD */
    features |= hwcap & (1ul << 20) ? QR_CPU_DOTPROD : 0;      /* HWCAP_ASIMDDP */
    features |= hwcap2 & (1ul << 13) ? QR_CPU_I8MM : 0;        /* HWCAP2_I8MM */
    if (hwcap & (1ul << 22)) {                                 /* HWCAP_SVE */
        features |= hwcap2 & (1ul << 9) ? QR_CPU_SVE_I8MM : 0; /* HWCAP2_SVEI8MM */
        features |= sve_bytes() == 32 ? QR_CPU_SVE_256_BITS : 0;
    }
    return features;
}

const char *qr_cpu_brand(void) { return "aarch64"; }
bool qr_cpu_slow_vdpbf16ps(void) { return false; }
enum qr_cpu_streams qr_cpu_followed_streams(void) { return QR_CPU_STREAMS_NONE; }
bool qr_cpu_amx_permitted(void) { return false; }
int qr_cpu_request_amx(void) { return ENOSYS; }

#else
uint32_t qr_cpu_features(void) { return 0; }
const char *qr_cpu_brand(void) { return "unknown"; }
bool qr_cpu_slow_vdpbf16ps(void) { return false; }
enum qr_cpu_streams qr_cpu_followed_streams(void) { return QR_CPU_STREAMS_NONE; }
bool qr_cpu_amx_permitted(void) { return false; }
int qr_cpu_request_amx(void) { return ENOSYS; }
#endif
