/* The five compiler attributes that this tree uses, and the cleanup idiom. */
#ifndef BF_COMPILER_H
#define BF_COMPILER_H

#define BF_MUST_CHECK          __attribute__((warn_unused_result))
#define BF_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define BF_NORETURN            __attribute__((noreturn))

/* BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};  runs bf_buf_fini(&text) when the scope is left.
 * For pointers the function takes a pointer to the pointer: see BF_CLEANUP_POINTER. */
#define BF_CLEANUP(function) __attribute__((cleanup(function)))

/* Defines bf_cleanup_<name>, which frees what a local pointer of this type still holds. */
#define BF_CLEANUP_POINTER(name, type, free_function)                                              \
	static inline void bf_cleanup_##name(type **pointer)                                       \
	{                                                                                          \
		free_function(*pointer);                                                           \
	}

#define BF_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define BF_MIN(a, b) ((a) < (b) ? (a) : (b))
#define BF_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
