/* Preloaded into programs that sanitizers watch: libraries stay open. Reports then name the library that a leak or a
 * race is in, and what a driver leaks can be told from what we do; of a library that was closed, only "<unknown module>"
 * is left. */
int dlclose(void* library);
int dlclose(void* library) {
  (void)library;
  return 0;
}
