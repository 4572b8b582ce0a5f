/* Named crash points: places where a test build can kill the process, by SIGKILL, when the environment
 * variable BELFRY_CRASH_POINT names one ("NAME" or "NAME:COUNT" for the COUNT-th pass). Compiled out of
 * releases (meson option crash_points). */
#ifndef BF_CRASH_H
#define BF_CRASH_H

#ifdef BF_CRASH_POINTS
void bf_crash_point(const char *name);
#define BF_CRASH_POINT(name) bf_crash_point(name)
#else
#define BF_CRASH_POINT(name) ((void)0)
#endif

#endif
