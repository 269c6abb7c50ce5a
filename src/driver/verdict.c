/* verdict.c - see verdict.h */

#include "driver/verdict.h"

const char *
error_class_word(enum error_class class)
{
	static const char *const words[CLASSES] = {
		[CLASS_NONE] = "", [CLASS_NO_STREAM] = "no_stream",
		[CLASS_FULL] = "full", [CLASS_SEALED] = "sealed",
		[CLASS_PERMISSION] = "permission",
		[CLASS_TIMEOUT] = "timeout", [CLASS_LOST] = "lost",
		[CLASS_OFFLINE] = "offline", [CLASS_OVERLOAD] = "overload",
		[CLASS_UNFIT] = "unfit",
		[CLASS_WRONG_STREAM] = "wrong_stream",
		[CLASS_TOO_LARGE] = "too_large", [CLASS_AUDIT] = "audit",
		[CLASS_NO_ROUTE] = "no_route", [CLASS_OTHER] = "other",
	};

	return words[class];
}
