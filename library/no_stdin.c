/* Some distributions compile libjansson.a for programs alone: it reaches `stdin` as only a program can (in
 * json_loadf, which nobody here calls), and could not go into a shared object. tools/prelink turns each
 * `stdin` of the private copies into this. The library reads no standard input. */
extern void *bf_no_stdin;
void *bf_no_stdin;
