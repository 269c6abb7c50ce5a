/* traits_local.c - destinations without a server, see local/ */

#include "drivers/traits/traits.h"

#include "drivers/traits/url_path.h"

static void
put_remedy(const struct conf *conf, const struct conf_route *rule,
    const char *error, struct buf *b)
{
	(void)conf;
	(void)rule;
	(void)error;
	buf_str(b, "make room, or start the program that reads the output of "
	    "the daemon");
}

const struct driver_traits traits_stdout = {
	.noun = "destination",
	.template_key = "publish.driver",
	.put_value = url_path_put,
	.takes_stdout = true,
	.put_remedy = put_remedy,
};

const struct driver_traits traits_discard = {
	.noun = "destination",
	.template_key = "publish.driver",
	.put_value = url_path_put,
	.put_remedy = put_remedy,
};
