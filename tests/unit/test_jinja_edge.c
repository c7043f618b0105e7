/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_edge.c - long strings, characters whose case changes their length, numbers at the ends
 * of their ranges, rare forms of the syntax. Results are those of Jinja2 3.1, but objects print
 * without their address. */
#include "test_jinja.h"

static const struct jinja_case values[] = {
    { "{{ 7.0/2 }}", "3.5" },
    { "{{ 0.0**1.5 }}", "0.0" },
    { "{{ (users|groupby('city'))[0] + (1,) }}",
      "('LA', [{'name': 'Cy', 'age': 4, 'city': 'LA'}], 1)" },
    { "{{ [1]+[] }}", "[1]" },
    { "{{ l is lower }}", "False" },
    { "{{ 'ab cd'|title }}", "Ab Cd" },
    { "{{ 'ǅab cd'.title() }}", "ǅab Cd" },
    { "{{ 'İİİ'.lower() }}", "i̇i̇i̇" },
    { "{{ 'ΐΐ'.casefold() }}", "ΐΐ" },
    { "{{ 'ΐ ΐ'.title() }}", "Ϊ́ Ϊ́" },
    { "{{ 'ΐ1'.swapcase() }}", "Ϊ́1" },
    { "{{ 1 == ('nan'|float) }}", "False" },
    { "{{ ('a'*300) == ('a'*300) }}", "True" },
    { "{{ (1,) == [1] }}", "False" },
    { "{{ [1] == (1,) }}", "False" },
    { "{{ ('a'*300) < ('a'*301) }}", "True" },
    { "{{ 'a' in ('b'*300) }}", "False" },
    { "{{ '0x1f'|int(0,0) }}", "31" },
    { "{{ '0o17'|int(0,0) }}", "15" },
    { "{{ '0b11'|int(0,0) }}", "3" },
    { "{{ '0z1'|int(7,0) }}", "7" },
    { "{{ '0x1f'|int(7,10) }}", "7" },
    { "{{ '0x1f'|int(0,16) }}", "31" },
    { "{{ '12'|int(0,0) }}", "12" },
    { "{{ {'a'*300:1}|length }}", "1" },
    { "{{ {range:1,dict:2}|length }}", "2" },
    { "{{ {1:1,2:2,3:3,4:4,5:5,6:6,7:7,8:8,9:9,range:10,dict:11}|length }}", "11" },
    { "{% set a, b = 'xy' %}{{ b ~ a }}", "yx" },
    { "{{ (l|map('string'))|first }}", "3" },
    { "{% set g = l|map('string') %}{{ g|first }}{{ g|first }}", "31" },
    { "{{ d|dictsort(false,'key') }}", "[('a', 1), ('b', 'x'), ('items', 9), ('z', None)]" },
    { "{{ [{'x':'nan'|float}]|groupby('x')|list|length }}", "1" },
    { "{{ ('a\\x00b'|title)|length }}", "3" },
    { "{{ l|format }}", "[3, 1, 2]" },
    { "{{ ('x'*900)|truncate(400,true,'.'*300)|length }}", "400" },
    { "{{ ('a b '*100)|wordcount }}", "200" },
    { "{{ ['ab']|urlencode }}", "a=b" },
    { "{{ {'a\\x00':1}|xmlattr|length }}", "7" },
    { "{{ {'a':1,'b':2}|xmlattr(false) }}", "a=\"1\" b=\"2\"" },
    { "{{ '{:_X} {:_x}'.format(11259375,11259375) }}", "AB_CDEF ab_cdef" },
    { "{{ '%.80d'|format(5) }}",
      "00000000000000000000000000000000000000000000000000000000000000000000000000000005" },
    { "{{ '%.100d'|format(-5) }}", "-00000000000000000000000000000000000000000000000000000000000000"
                                   "00000000000000000000000000000000000005" },
    { "{{ '{:>400}'.format('a'*300)|length }}", "400" },
    { "{{ '\\U0001F600\\u00e9\\x41' }}", "😀éA" },
    { "{{ 'x\\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'|length }}",
      "72" },
    { "{% raw -%}   {{ {% endraw %}x", "{{ x" },
    { "{% macro aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(x) %}{{ x "
      "}}{% endmacro %}{{ aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(1) "
      "}}",
      "1" },
    { "{{ d.get('a') }}{{ d.get('q',5) }}{{ d.get('q') }}", "15None" },
    { "{{ (l|map('string')).foo }}", "" },
    { "{{ ('a'*300).zfill(310)|length }}", "310" },
    { "{{ ('a\\t'*150).expandtabs(4)|length }}", "600" },
    { "{{ 'a_b'.isalnum() }}", "False" },
    { "{{ ('a'*300).isalnum() }}{{ ('a'*300).istitle() }}{{ "
      "('A'*300).isupper() }}{{ ('a'*300).islower() }}{{ ('1'*300).isdigit() }}",
      "TrueFalseTrueTrueTrue" },
    { "{{ ('a '*300).split(' ')|length }}{{ ('a '*300).rsplit(none,2)|length }}", "3013" },
    { "{{ ('a '*300).partition(' ')|length }}", "3" },
    { "{{ ('a'*300).find('b',5) }}{{ ('a'*300).count('a') }}{{ ('a'*300).startswith('a'*290) }}{{ "
      "('a'*300).endswith('a'*290) }}",
      "-1300TrueTrue" },
    { "{{ s.startswith(()) }}", "False" },
    { "{% for x in 1, recursive %}{{ x }}{% endfor %}", "1" },
    { "{{ l[1::] }}{{ l[::] }}", "[1, 2][3, 1, 2]" },
    { "{% if false %}{{ 1|foo.bar }}{{ 1 is foo.bar }}{% endif %}x", "x" },
    { "{{ {} is eq {} }}{{ [1] is eq [1] }}{{ 1 is eq (1) }}", "TrueTrueTrue" },
    { "{% for (a,) in [[1]] %}{{ a }}{% endfor %}", "1" },
    { "{{ '%##x'|format(5) }}", "0x5" },
    { "{{ ('a'*300)[1:299]|length }}{{ ('a'*300)[::-1]|length }}", "298300" },
    { "{% set a = 'x' + 'y' %}{% set b = a + '1' %}{% set c = a + '2' %}{{ b }}{{ c }}", "xy1xy2" },
    { "{% set a = 'x' + 'y' %}{% set b = a + 'z'*200 %}{% set c = a + '2' %}{{ b|length }}{{ c }}",
      "202xy2" },
    { "{{ 'ab'.rfind('ac') }}", "-1" },
    { "{{ ('a'*300).strip('b'*300)|length }}{{ ('a'*300).strip()|length }}", "300300" },
    { "{{ 'a\\r'.splitlines() }}{{ 'a\\rb'.splitlines(true) }}{{ ('a\\n'*300).splitlines()|length "
      "}}",
      "['a']['a\\r', 'b']300" },
    { "{{ (('a'*300)*3)|length }}", "900" },
    { "{{ '{:*<05d}|{:05d}|{:<05d}'.format(42,42,42) }}", "42***|00042|42000" },
    { "{{ '{:<}|{:d}|{:>}'.format(true,true,false) }}", "1|1|0" },
    { "{{ '{ab}'.format(ac=1,ab=2) }}", "2" },
    { "{{ '{0[1a]} {0[b]}'.format({'1a':5,'b':6}) }}", "5 6" },
    { "{{ strftime_now('%r %R %T %X %x %D %c %z%Z|%P') }}",
      "12:00:00 AM 00:00 00:00:00 00:00:00 01/15/26 01/15/26 Thu Jan 15 00:00:00 2026 |am" },
    { "{{ strftime_now('%^a %^B %_d %0e %_m %-d') }}", "THU JANUARY 15 15  1 15" },
    { "{{ 'a'.center(5,'é') }}", "ééaéé" },
    { "{{ ('a'*300) ~ ('b'*300) == ('a'*300) + ('b'*300) }}", "True" },
    { "{{ '%.5s|%.1s'|format('ab','ab') }}", "ab|a" },
    { "{{ '\\x1ca\\u3000b\\u2028'|trim }}", "a　b" },
    { "{{ joiner() is callable }}{{ qq is callable }}{{ range is callable }}{{ 1 is callable }}",
      "TrueTrueTrueFalse" },
    { "{{ ('a'*300).replace('a','b')|length }}{{ ('a'*300)|upper|length }}", "300300" },
    { "{{ ('a'*600)|indent(2)|length }}", "600" },
    { "{% macro m() %}{{ caller.name }}{{ m.name }}{% endmacro %}{% call m() %}{% endcall %}",
      "Nonem" },
    { "{{ 1.5|round(20) }}{{ 1e300|round(2) }}", "1.51e+300" },
    { "{{ 'a' is in ('b'*300) }}", "False" },
    { "{{ 300|string|float }}", "300.0" },
    { "{{ 'nan'|float|int }}", "0" },
    { "{{ 'nan'|float|filesizeformat }}", "nan YB" },
    { "{{ '{:,}'.format('inf'|float) }}", "inf" },
    { "{{ ('inf'|float).is_integer() }}{{ 2.0.is_integer() }}", "FalseTrue" },
    { "{{ 'nan'|float|int }}", "0" },
    { "{{ -1}}{{ "
      "-1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}{{1}}"
      "{{1}}{{1}}{{1}}",
      "-1-11111111111111111111" },
    { "{{ [s.upper] }}{{ [range] }}{{ [cycler(1)] }}",
      "[<built-in method upper of str object>][<function range>][<Cycler object>]" },
    { "{{ '5'|int(0,1) }}{{ '5.7'|int(0,37) }}{{ 'x'|int(7,-1) }}", "557" },
    { "{{ '5'|int(0,'x') }}{{ 6|int(0,none) }}{{ [1]|int(3,qq) }}", "563" },
    { "{{ [25|round(-1), -25|round(-1), 35|round(-1), 26|round(-1), -5|round(-1)] }}",
      "[20, -20, 40, 30, 0]" },
    { "{{ [1250|round(-2), 123456789|round(-4), true|round(-1)] }}", "[1200, 123460000, 0]" },
    { "{{ 9223372036854775803|round(-1) }} {{ -9223372036854775803|round(-1) }}",
      "9223372036854775800 -9223372036854775800" },
    { "{{ 7|round(-20)}} {{ 4999999999999999999|round(-19) }}", "0 0" },
    { "{{ -15.0|round(-1) }} {{ (-9223372036854775807-1)|round(2) }}",
      "-20.0 -9223372036854775808" },
    { "{{ {'a':1}|xmlattr(true) }}", " a=\"1\"" },
    { "{{ 'ab cd'.isalnum() }}", "False" },
    { "{{ s.find('o',end=6) }}{{ s.count('l',end=3) }}", "41" },
    { "{{ s.startswith(('He','x')) }}{{ s.endswith(('ld','x')) }}", "TrueTrue" },
    { "{{ '\\A\\Z\\q\\w\\y' }}", "\\A\\Z\\q\\w\\y" },
    { "{{ (' '*1100).rstrip()|length }}{{ ('ab'*1100).rstrip('ba')|length }}", "00" },
    { "{{ ('a'*300).center(310)|length }}", "310" },
    { "{{ '{x}'.format(xy=1,x=2) }}", "2" },
    { "{{ [\"a'b\", 'c\"d', 'e\\'\"f', 'q\\\\'] }}", "[\"a'b\", 'c\"d', 'e\\'\"f', 'q\\\\']" },
    { "{{ '\xe0\xa0\x80\xed\x9f\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf'|length }}", "4" },
};

/* Messages are those of Jinja2, or name the limit or the argument in the words of this library. */
static const struct jinja_case errors[] = {
    { "{{ s|trim(qq) }}", "'qq' is undefined" },
    { "{{ {}*2 }}", "unsupported operand type(s) for *: 'dict' and 'int'" },
    { "{{ 4294967296**2 }}", "template: integer beyond 64 bits" },
    { "{{ (-9223372036854775807-1)//-1 }}", "template: integer beyond 64 bits" },
    { "{{ '-9223372036854775809'|int }}", "template: integer beyond 64 bits" },
    { "{{ '9223372036854775808'|int }}", "template: integer beyond 64 bits" },
    { "{{ '%d'|format('nan'|float) }}", "cannot convert float NaN to integer" },
    { "{{ '%d'|format('inf'|float) }}", "cannot convert float infinity to integer" },
    { "{{ '%d'|format(-1e300) }}", "template: integer beyond 64 bits" },
    { "{{ '%.101d'|format(1) }}", "template: precision above 100" },
    { "{{ 1e300|int }}", "template: integer beyond 64 bits" },
    { "{{ 1e300|round|int }}", "template: integer beyond 64 bits" },
    { "{{ +qq }}", "'qq' is undefined" },
    { "{% for i in l recursive %}{{ loop(l, x=1) }}{% endfor %}", "loop() takes one argument" },
    { "{{ l|batch(qq)|list }}", "'qq' is undefined" },
    { "{{ l|batch(0)|list }}", "batch size must be positive" },
    { "{{ raise_exception(l) }}", "[3, 1, 2]" },
    { "{% for i in l %}{{ loop.cycle(1, x=2) }}{% endfor %}", "no items for cycling given" },
    { "{% for (a in l %}{% endfor %}", "template: unexpected closing bracket" },
    { "{{ '%\\x00'|format(1) }}", "unsupported format character at index 1" },
    { "{{ l['a'::-1] }}", "slice indices must be integers or None or have an __index__ method" },
    { "{{ l[:'a':-1] }}", "slice indices must be integers or None or have an __index__ method" },
    { "{{ s * 9223372036854775807 }}", "template: string or output exceeds 16777216 bytes" },
    { "{{ [1] * 9223372036854775807 }}", "template: step budget exhausted" },
    { "{{ [1,2,3] * 9223372036854775807 }}", "template: step budget exhausted" },
    { "{{ 'a'.center(9223372036854775807, '😀') }}",
      "template: string or output exceeds 16777216 bytes" },
    { "{{ '日日日日日'.ljust(9223372036854775807, 'é') }}",
      "template: string or output exceeds 16777216 bytes" },
    { "{{ '{0[99999999999999999999]}'.format(l) }}", "template: width or precision too large" },
    { "{{ '{0.x}'.format(qq) }}", "'qq' is undefined" },
    { "{{ [1]|tojson(separators=(',',5)) }}", "expected a string, got 'int'" },
    { "{{ none.foo.bar }}", "'None' has no attribute 'foo'" },
    { "{{ cycler(1).foo.bar }}", "'jinja2.utils.Cycler object' has no attribute 'foo'" },
    { "{{ joiner().foo.bar }}", "'jinja2.utils.Joiner object' has no attribute 'foo'" },
    { "{% for i in l %}{{ loop.foo.bar }}{% endfor %}",
      "'jinja2.runtime.LoopContext object' has no attribute 'foo'" },
    { "{{ qq|indent }}", "'qq' is undefined" },
    { "{{ '{:a\\x00}'.format(1) }}", "Invalid format specifier" },
    { "{{ '{:\\x00}'.format(1) }}", "Invalid format specifier" },
    { "{{ [1,2]|map(l)|list }}", "No filter named [3, 1, 2] found." },
    { "{{ -1e30|filesizeformat }}", "template: integer beyond 64 bits" },
    { "{{ (1,2).foo.bar }}", "'tuple object' has no attribute 'foo'" },
    { "{{ 1 is foo.bar }}", "No test named 'foo.bar' found." },
    { "{{ {}/2 }}", "unsupported operand type(s) for /: 'dict' and 'int'" },
    { "{{ {}%2 }}", "unsupported operand type(s) for %: 'dict' and 'int'" },
    { "{{ {}//2 }}", "unsupported operand type(s) for //: 'dict' and 'int'" },
    { "{% set ns = namespace() %}{{ ns.foo.bar }}",
      "'jinja2.utils.Namespace object' has no attribute 'foo'" },
    { "{% macro m() %}{% endmacro %}{{ m.foo.bar }}",
      "'jinja2.runtime.Macro object' has no attribute 'foo'" },
    { "{{ 9223372036854775807|round(-1) }}", "template: integer beyond 64 bits" },
    { "{{ -6000000000000000000|round(-19) }}", "template: integer beyond 64 bits" },
    { "{{ 'abcdefghi'|list|truncate(3,true,'',0) }}", "expected a string, got 'list'" },
    { "{% for i in l %}{{ loop|urlencode }}{% endfor %}", "'LoopContext' object is not iterable" },
    { "{{ {1:2}|xmlattr }}", "expected a string, got 'int'" },
    { "{{ 1 is a.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb }}",
      "No test named 'a.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb' found." },
    { "{{ '\\N{DASH}' }}", "template: malformed escape in a string" },
    { "{{ s|upper()(a b) }}", "template: expected ',', got 'b'" },
    { "{% set a, = [1] %}", "template: expected a name, got '='" },
    { "{% for (a b) in l %}{% endfor %}", "template: expected ')', got 'b'" },
    { "{{ '{0[x]}'.format(qq) }}", "'qq' is undefined" },
    { "{{ 'a'.ljust(9223372036854775807, '😀') }}",
      "template: string or output exceeds 16777216 bytes" },
};

/* Nesting that reaches its limit in every kind of evaluation: the body recurses, and the lists
 * around its first call shift the level at which the limit is met. */
static void test_depth(void **state)
{
    static const char *const bodies[] = {
        "{% macro m() %}{{ [[1]] < [[2]] }}{{ m() }}{% endmacro %}",
        "{% macro m() %}{{ [m()|upper]|join }}{% endmacro %}",
        "{% macro m() %}{{ -1|abs }}{{ m()|upper|lower }}{% endmacro %}",
        "{% macro m() %}{% if true %}{{ m() }}{% endif %}{% endmacro %}",
        "{% macro m() %}{% for i in l recursive %}{{ loop(l) }}{% endfor %}{% endmacro %}",
        "{% macro m() %}{{ (1,(2,)) == (1,(2,)) }}{{ {((1,),):1}|length }}{{ m() }}{% endmacro %}",
        "{% macro m() %}{% set x = 'ba'|sort %}{{ m() }}{% endmacro %}",
        "{% macro m() %}{% filter upper %}{% endfilter %}{{ m() }}{% endmacro %}",
        ("{% macro m() %}{% with %}{% with %}{% with %}{% with %}x{% endwith %}{% endwith %}"
         "{% endwith %}{% endwith %}{{ m() }}{% endmacro %}"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (size_t shift = 0; shift < 24; shift++) {
            char source[512], open[25] = "", close[25] = "";
            struct quire_error err = QUIRE_ERROR_INIT;
            memset(open, '[', shift);
            memset(close, ']', shift);
            snprintf(source, sizeof source, "%s{{ %sm()%s }}", bodies[i], open, close);
            assert_null(jinja_render(source, &err));
            assert_int_equal(err.code, QUIRE_E_LIMIT);
            assert_string_equal(err.msg, "template: nested too deeply");
        }
}

/* A message that is cut ends after a whole character. */
static void test_cut_messages(void **state)
{
    static const char *const chars[] = { "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80", "x" };
    (void)state;
    for (size_t i = 0; i < sizeof chars / sizeof *chars; i++)
        for (int before = 0; before < 4; before++) {
            char source[4096];
            struct quire_error err = QUIRE_ERROR_INIT;
            const size_t size = strlen(chars[i]);
            snprintf(source, sizeof source, "{{ raise_exception('%.*s' ~ '%s' * 600) }}", before,
                     "abc", chars[i]);
            assert_null(jinja_render(source, &err));
            assert_memory_equal(err.msg, "abc", before);
            const char *p = err.msg + before;
            while (strncmp(p, chars[i], size) == 0)
                p += size;
            assert_true(*p == 0 || strcmp(p, "...") == 0);
            assert_true(strlen(err.msg) + 16 > sizeof err.msg);
        }
}

/* Bytes that are no UTF-8: an error in a template, U+FFFD each in the text of a caller. */
static void test_invalid_utf8(void **state)
{
    static const char *const texts[] = { "\x80",         "\xc1\x80",         "\xc3",
                                         "\xc3(",        "\xe0\x80\x80",     "\xe0\xa0",
                                         "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                                         "\xf5",         "\xf0\x9f\x98",     "\xef\xbf(" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const struct quire_chat_message message = { .role = texts[i], .content = texts[i] };
        const struct quire_chat_render_args args = { .struct_size = sizeof args,
                                                     .messages = &message,
                                                     .n_messages = 1 };
        struct quire_chat_template *tmpl;
        struct quire_chat_prompt *prompt;
        char expected[64] = "";
        assert_null(jinja_render(texts[i], &err));
        assert_string_equal(err.msg, "chat template: invalid UTF-8 at byte 0");
        assert_status(QUIRE_OK,
                      quire_chat_template_create("{{ messages[0].content }}", QUIRE_NUL_TERMINATED,
                                                 NULL, &tmpl, &err));
        assert_status(QUIRE_OK, quire_chat_template_render(tmpl, &args, &prompt, &err));
        for (const char *p = texts[i]; *p; p++)
            strcat(expected, (unsigned char)*p < 0x80 ? "(" : "\xef\xbf\xbd");
        assert_string_equal(quire_chat_prompt_text(prompt, NULL), expected);
        quire_chat_prompt_destroy(prompt);
        quire_chat_template_destroy(tmpl);
    }
    /* a NUL character inside a tag */
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_template *tmpl;
    assert_status(QUIRE_E_FORMAT, quire_chat_template_create("{{ \0 }}", 7, NULL, &tmpl, &err));
    assert_string_equal(err.msg, "template: unexpected character in a tag");
}

/* str.isspace() at and next to every character that it accepts above U+007F. */
static void test_white_space(void **state)
{
    static const unsigned spaces[] = { 0x85,   0xA0,   0x1680, 0x2000, 0x200A,
                                       0x2028, 0x2029, 0x202F, 0x205F, 0x3000 };
    static const unsigned others[] = { 0x84,   0x86,   0x9F,   0xA1,   0x167F, 0x1681,
                                       0x1FFF, 0x200B, 0x2027, 0x202A, 0x202E, 0x2030,
                                       0x205E, 0x2060, 0x2FFF, 0x3001, 0xFEFF };
    const size_t n_spaces = sizeof spaces / sizeof *spaces;
    (void)state;
    for (size_t i = 0; i < n_spaces + sizeof others / sizeof *others; i++) {
        char source[64];
        struct quire_error err = QUIRE_ERROR_INIT;
        snprintf(source, sizeof source, "{{ '\\u%04x'.isspace() }}",
                 i < n_spaces ? spaces[i] : others[i - n_spaces]);
        char *text = jinja_render(source, &err);
        assert_non_null(text);
        assert_string_equal(text, i < n_spaces ? "True" : "False");
        free(text);
    }
}

static void test_values(void **state)
{
    (void)state;
    JINJA_CHECK(values, false);
}

static void test_errors(void **state)
{
    (void)state;
    jinja_check_errors(errors, sizeof errors / sizeof *errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),        cmocka_unit_test(test_cut_messages),
        cmocka_unit_test(test_invalid_utf8), cmocka_unit_test(test_white_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
