/* drivers.c - see drivers.h */

#include "drivers/drivers.h"

#include "http/http.h"
#include "local/local.h"
#include "nats/bus.h"

static struct pub (*const makers[])(const struct conf *, const char *) = {
	[DRIVER_NATS] = bus_new,
	[DRIVER_HTTP] = http_new,
	[DRIVER_STDOUT] = stdout_new,
	[DRIVER_DISCARD] = discard_new,
};

struct pub
drivers_new(const struct conf *c, const char *name)
{
	return makers[c->publish.driver](c, name);
}
