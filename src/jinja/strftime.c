/* SPDX-License-Identifier: Apache-2.0 */
/* strftime.c - strftime in the C locale, independent of the locale of the host. */
#include "jinja/strftime.h"
#include "base/error.h"
#include "jinja/interp.h"
#include "jinja/string_builder.h"
#include <stdio.h>
#include <string.h>

static const char *const days[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                    "Thursday", "Friday", "Saturday" };
static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

/* Days since 1970-01-01 of a date in the Gregorian calendar; y >= 1. */
static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2; /* years begin in March, so that the leap day is the last day */
    const int64_t of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return y * 365 + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

static int days_of_year(int64_t y)
{
    return (int)(days_from_civil(y + 1, 1, 1) - days_from_civil(y, 1, 1));
}

struct datetime {
    int64_t year; /* all digits */
    int month, day, hour, minute, second;
    int weekday, yearday; /* derived; Sunday is 0, January 1st is 0 */
    int64_t unix_time;    /* of the fields taken as UTC */
};

static struct datetime make_datetime(const struct tm *tm)
{
    struct datetime t = { .year = (int64_t)tm->tm_year + 1900,
                          .month = tm->tm_mon + 1,
                          .day = tm->tm_mday,
                          .hour = tm->tm_hour,
                          .minute = tm->tm_min,
                          .second = tm->tm_sec };
    const int64_t n = days_from_civil(t.year, t.month, t.day);
    t.weekday = (int)(((n + 4) % 7 + 7) % 7);
    t.yearday = (int)(n - days_from_civil(t.year, 1, 1));
    t.unix_time = n * 86400 + t.hour * 3600 + t.minute * 60 + t.second;
    return t;
}

/* ISO 8601: weeks begin on Monday; week 1 contains the first Thursday of the year. */
static int iso_week(const struct datetime *t, int64_t *year)
{
    const int monday = (t->weekday + 6) % 7;
    int week = (t->yearday - monday + 10) / 7;
    *year = t->year;
    if (week < 1) {
        --*year;
        const int previous = t->yearday + days_of_year(*year);
        week = (previous - monday + 10) / 7;
    } else if (week == 53 && t->yearday - monday + 3 >= days_of_year(*year)) {
        ++*year;
        week = 1;
    }
    return week;
}

struct field {
    bool number;
    int64_t value;
    int width;
    char pad;
    const char *text;   /* of a word */
    const char *expand; /* directives that the directive expands to */
    int text_len;       /* -1: all */
};

static struct field word(const char *text, int len)
{
    return (struct field){ .text = text, .text_len = len };
}
static struct field number(int64_t value, int width, char pad)
{
    return (struct field){ .number = true, .value = value, .width = width, .pad = pad };
}
static struct field expand(const char *format) { return (struct field){ .expand = format }; }

/* Directives that print words or expand to other directives; all members zero: not one of these. */
static struct field word_directive(const struct datetime *t, char c)
{
    switch (c) {
    case 'a':
        return word(days[t->weekday], 3);
    case 'A':
        return word(days[t->weekday], -1);
    case 'b':
    case 'h':
        return word(months[t->month - 1], 3);
    case 'B':
        return word(months[t->month - 1], -1);
    case 'c':
        return expand("%a %b %e %H:%M:%S %Y");
    case 'D':
    case 'x':
        return expand("%m/%d/%y");
    case 'F':
        return expand("%Y-%m-%d");
    case 'n':
        return word("\n", -1);
    case 'p':
        return word(t->hour < 12 ? "AM" : "PM", -1);
    case 'P':
        return word(t->hour < 12 ? "am" : "pm", -1);
    case 'r':
        return expand("%I:%M:%S %p");
    case 'R':
        return expand("%H:%M");
    case 't':
        return word("\t", -1);
    case 'T':
    case 'X':
        return expand("%H:%M:%S");
    case 'z':
    case 'Z':
        return word("", -1); /* naive times have no zone */
    case '%':
        return word("%", -1);
    default:
        return (struct field){ .text = NULL };
    }
}

/* Directives that print a number; all members zero: not one of these. */
static struct field number_directive(const struct datetime *t, char c)
{
    const int hour12 = t->hour % 12 ? t->hour % 12 : 12;
    const int since_monday = (t->weekday + 6) % 7;
    int64_t iso_year;
    const int week = iso_week(t, &iso_year);
    const struct {
        char directive;
        struct field field;
    } numbers[] = {
        { 'C', number(t->year / 100, 2, '0') },
        { 'd', number(t->day, 2, '0') },
        { 'e', number(t->day, 2, ' ') },
        { 'f', number(0, 6, '0') },
        { 'g', number(iso_year % 100, 2, '0') },
        { 'G', number(iso_year, 4, '0') },
        { 'H', number(t->hour, 2, '0') },
        { 'I', number(hour12, 2, '0') },
        { 'j', number(t->yearday + 1, 3, '0') },
        { 'k', number(t->hour, 2, ' ') },
        { 'l', number(hour12, 2, ' ') },
        { 'm', number(t->month, 2, '0') },
        { 'M', number(t->minute, 2, '0') },
        { 's', number(t->unix_time, 1, '0') },
        { 'S', number(t->second, 2, '0') },
        { 'u', number(t->weekday ? t->weekday : 7, 1, '0') },
        { 'U', number((t->yearday + 7 - t->weekday) / 7, 2, '0') },
        { 'V', number(week, 2, '0') },
        { 'w', number(t->weekday, 1, '0') },
        { 'W', number((t->yearday + 7 - since_monday) / 7, 2, '0') },
        { 'y', number(t->year % 100, 2, '0') },
        { 'Y', number(t->year, 1, '0') },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].directive == c)
            return numbers[i].field;
    return (struct field){ .text = NULL };
}

/* flag: a flag of glibc, or 0. */
static quire_status put_field(struct qr_jinja_sb *sb, const struct field *f, char flag)
{
    char buf[32];
    if (!f->number) {
        const size_t len = f->text_len < 0 ? strlen(f->text) : (size_t)f->text_len;
        for (size_t i = 0; i < len; i++) {
            char c = f->text[i];
            if (flag == '^' && (unsigned)(c - 'a') < 26) /* a to z */
                c = (char)(c - 0x20);
            QR_TRY(qr_jinja_sb_append(sb, &c, 1, false));
        }
        return QUIRE_OK;
    }
    const char pad = flag == '_' ? ' ' : flag == '0' ? '0' : f->pad;
    const int n = snprintf(buf, sizeof buf, "%lld", (long long)f->value);
    if (flag != '-')
        QR_TRY(qr_jinja_sb_append_fill(sb, (unsigned char)pad, f->width - n, false));
    return qr_jinja_sb_append(sb, buf, (size_t)n, false);
}

/* Recurses one level at most: expansions contain only directives that do not expand. */
static quire_status format_to(struct qr_jinja_sb *sb, const struct datetime *t,
                              const struct qr_jinja_str *fmt)
{
    for (size_t i = 0; i < fmt->n; i++) {
        if (fmt->p[i] != '%' || i + 1 >= fmt->n) {
            QR_TRY(qr_jinja_sb_append_range(sb, fmt, i, 1));
            continue;
        }
        const size_t start = i++;
        char flag = 0;
        /* flags of glibc, which Python accepts: no padding, blanks, zeros, upper case */
        while (i + 1 < fmt->n && fmt->p[i] && strchr("-_0^#", fmt->p[i]))
            flag = fmt->p[i++];
        while (i + 1 < fmt->n && (fmt->p[i] == 'E' || fmt->p[i] == 'O'))
            i++; /* modifiers without effect in the C locale */
        struct field f = word_directive(t, fmt->p[i]);
        if (!f.text && !f.expand)
            f = number_directive(t, fmt->p[i]);
        if (f.expand)
            QR_TRY(
                format_to(sb, t, &(struct qr_jinja_str){ .p = f.expand, .n = strlen(f.expand) }));
        else if (f.number || f.text)
            QR_TRY(put_field(sb, &f, flag));
        else
            QR_TRY(qr_jinja_sb_append_range(sb, fmt, start, i + 1 - start));
    }
    return QUIRE_OK;
}

quire_status qr_jinja_strftime(struct qr_jinja *j, const struct qr_jinja_str *fmt,
                               const struct tm *tm, struct qr_jinja_value *out)
{
    struct qr_jinja_sb sb;
    /* the first year is 1, as in Python */
    const bool valid = tm->tm_year > -1900 && tm->tm_mon >= 0 && tm->tm_mon < 12 &&
                       tm->tm_mday >= 1 && tm->tm_mday <= 31 && tm->tm_hour >= 0 &&
                       tm->tm_hour < 24;
    if (!valid)
        return qr_jinja_fail(j, QUIRE_E_INVALID_ARG,
                             "template: the clock returned an invalid date");
    const struct datetime t = make_datetime(tm);
    qr_jinja_sb_init(&sb, j);
    QR_TRY(format_to(&sb, &t, fmt));
    return qr_jinja_sb_finish(&sb, out);
}
