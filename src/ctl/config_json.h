/* config_json.h - the effective configuration as JSON */
#ifndef OUTBOXCTL_CONFIG_JSON_H
#define OUTBOXCTL_CONFIG_JSON_H

#include "ctl/base/ctl.h"

/* An object for each section; the caller frees it. */
json_t	*config_json(const struct conf *);

#endif
