/* SPDX-License-Identifier: Apache-2.0 */
/* test_jinja_tests.c - tests with all kinds of operands and arguments.
 * Results are those of Jinja2 3.1. */
#include "test_jinja.h"

static const struct jinja_case values[] = {
    { "undefinedx is number", "False" },
    { "n is divisibleby(num=5)", "True" },
    { "5.5 is divisibleby 2", "False" },
    { "2.0 is even", "True" },
    { "n is ne 4", "True" },
    { "n is lt 6", "True" },
    { "n is le 5", "True" },
    { "n is gt 4", "True" },
    { "n is ge 5", "True" },
    { "n is greaterthan 4", "True" },
    { "n is lessthan 6", "True" },
    { "s is sameas s", "True" },
    { "l is sameas l", "True" },
    { "l is sameas [3,1,2]", "False" },
    { "none is sameas none", "True" },
    { "true is sameas true", "True" },
    { "true is sameas 1", "False" },
    { "d is sameas d", "True" },
    { "qq is sameas qq", "False" },
    { "true is true", "True" },
    { "1 is true", "False" },
    { "false is true", "False" },
    { "false is false", "True" },
    { "0 is false", "False" },
    { "true is false", "False" },
    { "true is boolean", "True" },
    { "1 is boolean", "False" },
    { "'a' is boolean", "False" },
    { "1 is integer", "True" },
    { "true is integer", "False" },
    { "1.5 is float", "True" },
    { "1 is float", "False" },
    { "'a' is float", "False" },
    { "l is mapping", "False" },
    { "range(3) is sequence", "True" },
    { "(1,) is sequence", "True" },
    { "d is iterable", "True" },
    { "none is iterable", "False" },
    { "'aBC' is upper", "False" },
    { "5 is lower", "False" },
    { "'é' is lower", "True" },
    { "'x' is escaped", "False" },
    { "('x'|safe) is escaped", "True" },
    { "5 is escaped", "False" },
    { "'foo' is filter", "False" },
    { "5 is filter", "False" },
    { "'foo' is test", "False" },
    { "5 is test", "False" },
    { "n is in [5]", "True" },
    { "n is in d", "False" },
    { "qq is in [1]", "False" },
    { "1 is in qq", "False" },
    { "n is callable", "False" },
    { "n is none", "False" },
    { "qq is none", "False" },
    { "n is undefined", "False" },
    { "n is string", "False" },
    { "'a' is string", "True" },
    { "none is not none", "False" },
    { "'inf'|float is number", "True" },
    { "s is not in s", "False" },
    { "s is string and 1", "1" },
    { "s is string or 1", "True" },
    { "is", "" },
    { "[] is sequence", "True" },
    { "s.foo is defined", "False" },
};

/* Messages are those of Jinja2, or name the limit or the argument in the words of this library. */
static const struct jinja_case errors[] = {
    { "{{ n is divisibleby 0 }}", "integer modulo by zero" },
    { "{{ 'a' is divisibleby 3 }}", "not all arguments converted during string formatting" },
    { "{{ n is divisibleby 'a' }}", "unsupported operand type(s) for %: 'int' and 'str'" },
    { "{{ 's' is odd }}", "not all arguments converted during string formatting" },
    { "{{ none is even }}", "unsupported operand type(s) for %: 'NoneType' and 'int'" },
    { "{{ qq is even }}", "'qq' is undefined" },
    { "{{ n is in 5 }}", "argument of type 'int' is not iterable" },
    { "{{ qq.a is defined }}", "'qq' is undefined" },
    { "{{ qq[1] is defined }}", "'qq' is undefined" },
    { "{{ d.zz.y is defined }}", "'dict object' has no attribute 'zz'" },
    { "{{ loop.index is defined }}", "'loop' is undefined" },
    { "{{ n is number(1) }}", "number() takes at most 0 arguments (1 given)" },
    { "{{ n is divisibleby }}", "divisibleby() missing 1 required argument" },
    { "{{ n is divisibleby(1,2) }}", "divisibleby() takes at most 1 arguments (2 given)" },
    { "{{ n is divisibleby(foo=5) }}", "divisibleby() got an unexpected keyword argument 'foo'" },
    { "{{ n is divisibleby(5,num=5) }}", "divisibleby() got multiple values for argument 'num'" },
    { "{{ n is odd(1) }}", "odd() takes at most 0 arguments (1 given)" },
    { "{{ n is eq }}", "eq() missing 1 required argument" },
    { "{{ n is foo }}", "No test named 'foo' found." },
    { "{{ s is }}", "template: expected a name, got the end of the tag" },
    { "{{ s is not }}", "template: expected a name, got the end of the tag" },
    { "{{ s is 5 }}", "template: expected a name" },
    { "{{ s is in }}", "in() missing 1 required argument" },
    { "{{ s is string if 1 else 2 }}", "template: expected }}" },
    { "{{ s is divisibleby -3 }}", "divisibleby() missing 1 required argument" },
    { "{{ true is True }}", "No test named 'True' found." },
};

static void test_values(void **state)
{
    (void)state;
    JINJA_CHECK(values, true);
}

static void test_errors(void **state)
{
    (void)state;
    jinja_check_errors(errors, sizeof errors / sizeof *errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
