/* exposition.c - see exposition.h */

#include "monitor/exposition.h"

#include <stddef.h>

void
exposition_head(struct buf *b, const char *name, const char *type,
    const char *help)
{
	buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_labels(struct buf *b, const char *const *label)
{
	const char	*before = "{";

	for (; label != NULL && *label != NULL; label += 2) {
		buf_printf(b, "%s%s=\"", before, label[0]);
		/* Only these three characters have a meaning in a value. */
		for (const char *p = label[1]; *p != '\0'; p++) {
			if (*p == '\\' || *p == '"' || *p == '\n')
				buf_str(b, "\\");
			buf_add(b, *p == '\n' ? "n" : p, 1);
		}
		buf_str(b, "\"");
		before = ",";
	}
	buf_str(b, *before == ',' ? "} " : " ");
}

static void
put_real(struct buf *b, double value)
{
	buf_printf(b, "%.15g", value);
}

void
exposition_count(struct buf *b, const char *name, uint64_t value,
    const char *const *labels)
{
	buf_str(b, name);
	put_labels(b, labels);
	buf_u64(b, value);
	buf_str(b, "\n");
}

void
exposition_real(struct buf *b, const char *name, double value,
    const char *const *labels)
{
	buf_str(b, name);
	put_labels(b, labels);
	put_real(b, value);
	buf_str(b, "\n");
}

void
exposition_counter(struct buf *b, const char *name, const char *help,
    uint64_t value)
{
	exposition_head(b, name, "counter", help);
	exposition_count(b, name, value, NULL);
}

void
exposition_gauge(struct buf *b, const char *name, const char *help,
    double value)
{
	exposition_head(b, name, "gauge", help);
	exposition_real(b, name, value, NULL);
}

/* The count is the sum of what was read: the counters may grow meanwhile. */
void
exposition_histogram(struct buf *b, const char *name, const char *help,
    const struct histogram *h, const int64_t *bounds, unsigned n, double unit)
{
	uint64_t	below = 0;

	exposition_head(b, name, "histogram", help);
	for (unsigned i = 0; i < n; i++) {
		below += h->counts[i];
		buf_printf(b, "%s_bucket{le=\"", name);
		put_real(b, (double)bounds[i] / unit);
		buf_printf(b, "\"} %llu\n", (unsigned long long)below);
	}
	for (unsigned i = n; i <= HISTOGRAM_BOUNDS; i++)
		below += h->counts[i];
	buf_printf(b, "%s_bucket{le=\"+Inf\"} %llu\n", name,
	    (unsigned long long)below);
	buf_printf(b, "%s_sum ", name);
	put_real(b, (double)h->sum / unit);
	buf_printf(b, "\n%s_count %llu\n", name, (unsigned long long)below);
}
