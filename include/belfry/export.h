/* What a symbol of libbelfry needs to be seen from outside, and what C++ needs to call it. A function with
 * BELFRY_MUST_CHECK answers a status that may not be ignored.
 *
 * Since      0.1 */
#ifndef BELFRY_EXPORT_H
#define BELFRY_EXPORT_H

#if defined(__GNUC__)
#define BELFRY_API        __attribute__((visibility("default")))
#define BELFRY_MUST_CHECK __attribute__((warn_unused_result))
#else
#define BELFRY_API
#define BELFRY_MUST_CHECK
#endif

#ifdef __cplusplus
#define BELFRY_BEGIN_DECLS extern "C" {
#define BELFRY_END_DECLS   }
#else
#define BELFRY_BEGIN_DECLS
#define BELFRY_END_DECLS
#endif

#endif
