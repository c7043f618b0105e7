/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_method.c - methods of str and formatting; the expected output is that of Python. */
#include "test_jinja.h"

/* Search and split. */
static const struct jinja_case cutting[] = {
    { "s.split()", "['Hello', 'World']" },
    { "s.split('o')", "['Hell', ' W', 'rld']" },
    { "s.split('o',1)", "['Hell', ' World']" },
    { "s.rsplit('o',1)", "['Hello W', 'rld']" },
    { "'  a  b '.split()", "['a', 'b']" },
    { "'  a  b '.split(none,1)", "['a', 'b ']" },
    { "'  a  b '.rsplit(none,1)", "['  a', 'b']" },
    { "'a,b,,c'.split(',')", "['a', 'b', '', 'c']" },
    { "''.split()", "[]" },
    { "''.split(',')", "['']" },
    { "multi.splitlines()", "['one', 'two', '', 'three']" },
    { "multi.splitlines(true)", "['one\\n', 'two\\r\\n', '\\n', 'three\\n']" },
    { "s.partition(' ')", "('Hello', ' ', 'World')" },
    { "s.rpartition('o')", "('Hello W', 'o', 'rld')" },
    { "s.partition('q')", "('Hello World', '', '')" },
    { "s.rpartition('q')", "('', '', 'Hello World')" },
    { "','.join(['a','b'])", "a,b" },
    { "s.find('o')", "4" },
    { "s.rfind('o')", "7" },
    { "s.find('zz')", "-1" },
    { "u.find('W')", "6" },
    { "u.rfind('ö')", "7" },
    { "s.index('o',5)", "7" },
    { "s.find('o',5)", "7" },
    { "s.find('o',-3)", "-1" },
    { "s.count('l')", "3" },
    { "s.count('')", "12" },
    { "'aaaa'.count('aa')", "2" },
    { "s.startswith('He')", "True" },
    { "s.startswith(('x','He'))", "True" },
    { "s.endswith('ld')", "True" },
    { "s.startswith('lo',3)", "True" },
    { "s.endswith('Wo',0,8)", "True" },
};

/* Case mapping and padding. */
static const struct jinja_case casing[] = {
    { "s.upper()", "HELLO WORLD" },
    { "s.lower()", "hello world" },
    { "s.title()", "Hello World" },
    { "\"they're bill's\".title()", "They'Re Bill'S" },
    { "s.capitalize()", "Hello world" },
    { "s.swapcase()", "hELLO wORLD" },
    { "u.upper()", "HÉLLO WÖRLD SS 日本" },
    { "u.title()", "Héllo Wörld Ss 日本" },
    { "'ΑΣ ΣΑΣ'.lower()", "ας σας" },
    { "'ß'.casefold()", "ss" },
    { "'İ'.lower()", "i̇" },
    { "'ŉ'.upper()", "ʼN" },
    { "'ﬃ'.upper()", "FFI" },
    { "'ǆ'.title()", "ǅ" },
    { "sp.strip()", "pad" },
    { "sp.lstrip()", "pad \n" },
    { "sp.rstrip()~'|'", "  pad|" },
    { "'xxaxx'.strip('x')", "a" },
    { "'éaé'.strip('é')", "a" },
    { "s.replace('o','0')", "Hell0 W0rld" },
    { "s.replace('o','0',1)", "Hell0 World" },
    { "'ab'.center(7,'*')", "***ab**" },
    { "'ab'.ljust(5)~'|'", "ab   |" },
    { "'ab'.rjust(5,'-')", "---ab" },
    { "'42'.zfill(5)", "00042" },
    { "'-42'.zfill(5)", "-0042" },
    { "'a\\tb'.expandtabs(4)", "a   b" },
    { "'ab\\tc'.expandtabs()", "ab      c" },
    { "s.removeprefix('He')", "llo World" },
    { "s.removesuffix('ld')", "Hello Wor" },
    { "s.removeprefix('x')", "Hello World" },
};

/* Character classes. */
static const struct jinja_case classes[] = {
    { "dig.isdigit()", "True" },
    { "s.isalpha()", "False" },
    { "'ab'.isalpha()", "True" },
    { "'a1'.isalnum()", "True" },
    { "' \\n'.isspace()", "True" },
    { "''.isspace()", "False" },
    { "'Ab'.isupper()", "False" },
    { "'AB1'.isupper()", "True" },
    { "'ab1'.islower()", "True" },
    { "s.istitle()", "True" },
    { "'Hello world'.istitle()", "False" },
    { "'a'.isascii()", "True" },
    { "'é'.isascii()", "False" },
    { "'é'.isalpha()", "True" },
    { "'a\\n'.isprintable()", "False" },
    { "'½'.isnumeric()", "True" },
    { "'½'.isdecimal()", "False" },
    { "'١'.isdigit()", "True" },
};

/* printf-style formatting. */
static const struct jinja_case percent[] = {
    { "'%s is %d and %.2f'|format('x',3,2.5)", "x is 3 and 2.50" },
    { "'%5d|%-5d|%05d|%+d|% d'%(3,3,3,3,3)", "    3|3    |00003|+3| 3" },
    { "'%x %X %o %#x %c %%'%(255,255,8,255,65)", "ff FF 10 0xff A %" },
    { "'%e %g %G'%(12345.678,0.00001,1e10)", "1.234568e+04 1e-05 1E+10" },
    { "'%(a)s %(b)r'%{'a':1,'b':'x'}", "1 'x'" },
    { "'%r'%'x'", "'x'" },
    { "'%s'%[1,2]", "[1, 2]" },
    { "'%s'%(none,)", "None" },
    { "'%10.3s|'%'abcdef'", "       abc|" },
    { "'%-10s|'%'ab'", "ab        |" },
    { "'%*d'%(5,3)", "    3" },
    { "'%.3d'%5", "005" },
    { "'%08.3f'%3.14159", "0003.142" },
    { "'%+.2e'%0.0", "+0.00e+00" },
    { "'%i'%3.9", "3" },
    { "'%s %s'%('a','b')", "a b" },
};

/* str.format. */
static const struct jinja_case braces[] = {
    { "'{} {}'.format(1,'b')", "1 b" },
    { "'{1} {0}'.format(1,2)", "2 1" },
    { "'{a} {b[0]}'.format(a=1,b=[5])", "1 5" },
    { "'{:>5}|{:<5}|{:^5}|'.format('a','b','c')", "    a|b    |  c  |" },
    { "'{:05d} {:+d} {:,} {:x} {:#x} {:b}'.format(42,42,1234567,255,255,5)",
      "00042 +42 1,234,567 ff 0xff 101" },
    { "'{:.2f} {:8.3f} {:e} {:%} {:g}'.format(3.14159,2.5,12345.6,0.25,1e10)",
      "3.14    2.500 1.234560e+04 25.000000% 1e+10" },
    { "'{!r}'.format('x')", "'x'" },
    { "'{{}}'.format()", "{}" },
    { "'{:*^9}'.format('x')", "****x****" },
    { "'{0.a} {0[a]}'.format(d)", "1 1" },
    { "'{:_}'.format(1234567)", "1_234_567" },
    { "'{:.3}'.format('abcdef')", "abc" },
    { "'{}'.format(none)", "None" },
    { "'{:5}|'.format(3)", "    3|" },
    { "'{:d}'.format(true)", "1" },
    { "'{:.1f}'.format(2)", "2.0" },
    { "'{:010.2f}'.format(-3.14159)", "-000003.14" },
    { "'{:,.2f}'.format(1234567.891)", "1,234,567.89" },
};

static void test_search_and_split(void **state)
{
    (void)state;
    JINJA_CHECK(cutting, true);
}

static void test_case_and_padding(void **state)
{
    (void)state;
    JINJA_CHECK(casing, true);
}

static void test_character_classes(void **state)
{
    (void)state;
    JINJA_CHECK(classes, true);
}

static void test_percent_format(void **state)
{
    (void)state;
    JINJA_CHECK(percent, true);
}

static void test_str_format(void **state)
{
    (void)state;
    JINJA_CHECK(braces, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search_and_split),  cmocka_unit_test(test_case_and_padding),
        cmocka_unit_test(test_character_classes), cmocka_unit_test(test_percent_format),
        cmocka_unit_test(test_str_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
