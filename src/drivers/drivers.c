/* drivers.c - see drivers.h */

#include "drivers/drivers.h"

#include "nats/bus.h"

static struct pub (*const makers[])(const struct conf *, const char *) = {
	[DRIVER_NATS] = bus_new,
};

struct pub
drivers_new(const struct conf *c, const char *name)
{
	return makers[c->publish.driver](c, name);
}
