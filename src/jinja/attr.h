/* SPDX-License-Identifier: Apache-2.0 */
/* attr.h - attributes and items of values. */
#ifndef QR_JINJA_ATTR_H
#define QR_JINJA_ATTR_H
#include "jinja/types.h"

/* obj.name: the attribute, else the item, else undefined (Jinja2's Environment.getattr). */
quire_status qr_jinja_getattr(struct qr_jinja *j, struct qr_jinja_value obj,
                              struct qr_jinja_value name, struct qr_jinja_value *out);
/* obj[key]: the item, else the attribute, else undefined (Jinja2's Environment.getitem). */
quire_status qr_jinja_getitem(struct qr_jinja *j, struct qr_jinja_value obj,
                              struct qr_jinja_value key, struct qr_jinja_value *out);
/* obj.name without the fallback to items. */
quire_status qr_jinja_find_attr(struct qr_jinja *j, struct qr_jinja_value obj,
                                struct qr_jinja_value name, bool *found,
                                struct qr_jinja_value *out);
/* Attribute path of map, sort and the like: "a.b.0", an integer, or none for obj itself. fallback:
 * replaces an undefined result, unless it is MISSING or none. */
quire_status qr_jinja_getattr_path(struct qr_jinja *j, struct qr_jinja_value obj,
                                   struct qr_jinja_value path, struct qr_jinja_value fallback,
                                   struct qr_jinja_value *out);

#endif
