/* SPDX-License-Identifier: Apache-2.0 */
/* Each rule follows the ABNF of the RFC that its heading names. */
#include "grammar/regex/string_format_table.h"

#define HEX "[0-9A-Fa-f]"

const struct qr_format_rule qr_format_rules[] = {
    /* RFC 3339, section 5.6. The year 0000 is left out: date libraries of several languages do not
     * have it. Days 29 to 31 by month and leap year. */
    { "year", "[1-9][0-9]{3}|0([1-9][0-9]{2}|0([1-9][0-9]|0[1-9]))" },
    { "leap", "<year>&([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)" },
    { "month-day", "(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|"
                   "(0[13578]|1[02])-31" },
    { "date", "<year>-<month-day>|<leap>-02-29" },
    { "hour", "[01][0-9]|2[0-3]" },
    { "fraction", "(\\.[0-9]+)?" },
    { "offset", "[Zz]|[+-]<hour>:[0-5][0-9]" },
    { "time", "<hour>:[0-5][0-9]:[0-5][0-9]<fraction><offset>|<leap-second>" },
    { "date-time", "<date>[Tt]<time>" },
    /* RFC 3339, appendix A */
    { "dur-minute", "[0-9]+M([0-9]+S)?" },
    { "dur-time", "T([0-9]+H<dur-minute>?|<dur-minute>|[0-9]+S)" },
    { "dur-month", "[0-9]+M([0-9]+D)?" },
    { "dur-date", "([0-9]+D|<dur-month>|[0-9]+Y<dur-month>?)<dur-time>?" },
    { "duration", "P(<dur-date>|<dur-time>|[0-9]+W)" },
    /* RFC 2673, section 3.2 and RFC 4291, section 2.2, as the ABNF of RFC 3986 */
    { "octet", "[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]" },
    { "ipv4", "(<octet>\\.){3}<octet>" },
    { "h16", HEX "{1,4}" },
    { "ls32", "<h16>:<h16>|<ipv4>" },
    { "ipv6", "(<h16>:){6}<ls32>|::(<h16>:){5}<ls32>|<h16>?::(<h16>:){4}<ls32>|"
              "((<h16>:){0,1}<h16>)?::(<h16>:){3}<ls32>|"
              "((<h16>:){0,2}<h16>)?::(<h16>:){2}<ls32>|"
              "((<h16>:){0,3}<h16>)?::<h16>:<ls32>|"
              "((<h16>:){0,4}<h16>)?::<ls32>|"
              "((<h16>:){0,5}<h16>)?::<h16>|((<h16>:){0,6}<h16>)?::" },
    /* RFC 1123, section 2.1. Labels with "--" at the third place are left out: they are A-labels,
     * whose Punycode no expression checks, or reserved (RFC 5890, section 2.3.1). */
    { "let-dig", "[A-Za-z0-9]" },
    { "label", "<let-dig>([A-Za-z0-9-]{0,61}<let-dig>)?&!(<let-dig>[A-Za-z0-9-]--[A-Za-z0-9-]*)" },
    { "hostname", "<label>(\\.<label>)*&[A-Za-z0-9.-]{1,253}" },
    /* RFC 5321, section 4.1.2 and 4.1.3: a local part has at most 64 characters, an address 254.
     * Address literals of other kinds than IPv4 and IPv6 are left out: none is registered. */
    { "atom", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+" },
    { "quoted", "\"([ !#-[\\]-~]|\\\\[ -~])*\"" },
    { "local", "(<atom>(\\.<atom>)*|<quoted>)&[ -~]{1,64}" },
    { "smtp-v6", "(<h16>:){6}<ls32>|::(<h16>:){4}<ls32>|"
                 "<h16>?::(<h16>:){3}<ls32>|((<h16>:){0,1}<h16>)?::(<h16>:){2}<ls32>|"
                 "((<h16>:){0,2}<h16>)?::<h16>:<ls32>|"
                 "((<h16>:){0,3}<h16>)?::<ls32>|"
                 "((<h16>:){0,4}<h16>)?::<h16>|((<h16>:){0,5}<h16>)?::" },
    { "literal", "\\[(<ipv4>|IPv6:<smtp-v6>)\\]" },
    { "email", "<local>@(<hostname>|<literal>)&[ -~]{1,254}" },
    /* RFC 4122, section 3 */
    { "uuid", HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}" },
    /* RFC 3986, appendix A; reg-name includes IPv4address */
    { "pct", "%" HEX "{2}" },
    { "userinfo-char", "[A-Za-z0-9._~!$&'()*+,;=:-]|<pct>" },
    { "name-char", "[A-Za-z0-9._~!$&'()*+,;=-]|<pct>" },
    { "segment-nc-char", "[A-Za-z0-9._~!$&'()*+,;=@-]|<pct>" },
    { "pchar", "[A-Za-z0-9._~!$&'()*+,;=:@-]|<pct>" },
    { "query-char", "[A-Za-z0-9._~!$&'()*+,;=:@/?-]|<pct>" },
    { "scheme", "[A-Za-z][A-Za-z0-9+.-]*:" },
    { "ip-literal", "\\[(<ipv6>|[Vv]" HEX "+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]" },
    { "authority", "(<userinfo-char>*@)?(<ip-literal>|<name-char>*)(:[0-9]*)?" },
    { "path-abempty", "(/<pchar>*)*" },
    { "path-rooted", "//<authority><path-abempty>|/(<pchar>+<path-abempty>)?" },
    { "tail", "(\\?<query-char>*)?(#<query-char>*)?" },
    { "uri", "<scheme>(<path-rooted>|(<pchar>+<path-abempty>)?)<tail>" },
    { "relative", "(<path-rooted>|(<segment-nc-char>+<path-abempty>)?)<tail>" },
    { "uri-reference", "<uri>|<relative>" },
    /* RFC 3987, section 2.2 */
    { "iuserinfo-char", "<userinfo-char>|<ucschar>" },
    { "iname-char", "<name-char>|<ucschar>" },
    { "isegment-nc-char", "<segment-nc-char>|<ucschar>" },
    { "ipchar", "<pchar>|<ucschar>" },
    { "iquery-char", "<query-char>|<ucschar>|<iprivate>" },
    { "ifragment-char", "<query-char>|<ucschar>" },
    { "iauthority", "(<iuserinfo-char>*@)?(<ip-literal>|<iname-char>*)(:[0-9]*)?" },
    { "ipath-abempty", "(/<ipchar>*)*" },
    { "ipath-rooted", "//<iauthority><ipath-abempty>|/(<ipchar>+<ipath-abempty>)?" },
    { "itail", "(\\?<iquery-char>*)?(#<ifragment-char>*)?" },
    { "iri", "<scheme>(<ipath-rooted>|(<ipchar>+<ipath-abempty>)?)<itail>" },
    { "irelative", "(<ipath-rooted>|(<isegment-nc-char>+<ipath-abempty>)?)<itail>" },
    { "iri-reference", "<iri>|<irelative>" },
    /* RFC 6570, section 2, with erratum 6937 (apostrophe), without reserved operators */
    { "varchar", "[A-Za-z0-9_]|<pct>" },
    { "varspec", "<varchar>(\\.?<varchar>)*(\\*|:[1-9][0-9]{0,3})?" },
    { "template", "\\{[+#./;?&]?<varspec>(,<varspec>)*\\}" },
    { "uri-template", "([!#$&-;=?-[\\]_a-z~]|<ucschar>|<iprivate>|<pct>|<template>)*" },
    /* RFC 6901, section 3; draft-bhutton-relative-json-pointer-00 without index changes */
    { "json-pointer", "(/(<unescaped>|~[01])*)*" },
    { "relative-json-pointer", "(0|[1-9][0-9]*)(#|<json-pointer>)" },
};
const uint32_t qr_n_format_rules = sizeof qr_format_rules / sizeof *qr_format_rules;
_Static_assert(sizeof qr_format_rules / sizeof *qr_format_rules <= QR_FORMAT_MAX_RULES,
               "struct qr_formats has room for all rules");
