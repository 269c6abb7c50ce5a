/*
 * http_private.c - http.allow_private: false
 *
 * The address is checked when a connection is made, so that a name that
 * resolves to another address meanwhile, or a redirect, gains nothing.
 */

#include "http/http_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static const struct {
	uint32_t	net;
	unsigned	bits;
} nets[] = {
	{ 0x00000000, 8 },	/* this host */
	{ 0x0a000000, 8 },
	{ 0x64400000, 10 },	/* shared by carriers */
	{ 0x7f000000, 8 },
	{ 0xa9fe0000, 16 },	/* link-local, metadata of clouds */
	{ 0xac100000, 12 },
	{ 0xc0000000, 24 },
	{ 0xc0000200, 24 },	/* documentation */
	{ 0xc0586300, 24 },	/* relays of 6to4 */
	{ 0xc0a80000, 16 },
	{ 0xc6120000, 15 },	/* benchmarks */
	{ 0xc6336400, 24 },	/* documentation */
	{ 0xcb007100, 24 },	/* documentation */
	{ 0xe0000000, 3 },	/* multicast, reserved, broadcast */
};

static bool
is_private_v4(uint32_t address)
{
	for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
		if ((address ^ nets[i].net) >> (32 - nets[i].bits) == 0)
			return true;
	return false;
}

static uint32_t
v4_at(const struct in6_addr *in6, size_t at)
{
	uint32_t	net;

	memcpy(&net, &in6->s6_addr[at], sizeof(net));
	return ntohl(net);
}

static bool
begins_with(const struct in6_addr *in6, const char *bytes, size_t n)
{
	return memcmp(in6->s6_addr, bytes, n) == 0;
}

/*
 * Public are the addresses in 2000::/3 that IANA's registry does not keep for a
 * purpose.  Addresses that carry one of IPv4 are judged by that.
 */
static bool
is_private_v6(const struct in6_addr *in6)
{
	static const char	nat64[] = "\x00\x64\xff\x9b\0\0\0\0\0\0\0\0";
	const uint8_t		*a = in6->s6_addr;

	if (IN6_IS_ADDR_V4MAPPED(in6) || begins_with(in6, nat64, 12))
		return is_private_v4(v4_at(in6, 12));
	if ((a[0] & 0xe0) != 0x20)
		return true;
	/* ISATAP: the last 64 bits are ::5efe:a.b.c.d or ::200:5efe:a.b.c.d. */
	if ((a[8] & 0xfd) == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe &&
	    is_private_v4(v4_at(in6, 12)))
		return true;
	if (begins_with(in6, "\x20\x02", 2))	/* 6to4 */
		return is_private_v4(v4_at(in6, 2));
	return (begins_with(in6, "\x20\x01", 2) && a[2] < 2) ||
					/* Teredo, benchmarks, ORCHID */
	    begins_with(in6, "\x20\x01\x0d\xb8", 4) ||	/* documentation */
	    (begins_with(in6, "\x3f\xff", 2) && a[2] < 0x10) ||	/* the same */
	    begins_with(in6, "\x3f\xfe", 2);	/* the 6bone that was */
}

bool
http_is_private(const struct sockaddr *sa)
{
	struct sockaddr_in	in;
	struct sockaddr_in6	in6;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(&in, sa, sizeof(in));
		return is_private_v4(ntohl(in.sin_addr.s_addr));
	case AF_INET6:
		memcpy(&in6, sa, sizeof(in6));
		return is_private_v6(&in6.sin6_addr);
	default:
		return true;
	}
}

curl_socket_t
http_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
	struct request	*r = arg;

	(void)purpose;
	if (!r->http->conf->http.allow_private && http_is_private(&a->addr)) {
		r->private = true;
		return CURL_SOCKET_BAD;
	}
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}
