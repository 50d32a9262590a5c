/* Preloaded into programs that run under sanitizers: libraries stay open. Reports then name the library with a leak or
 * a race, and leaks of a driver can be told from our own. For a closed library, a report has only "<unknown module>".
 * */
int dlclose(void* library);
int dlclose(void* library) {
  (void)library;
  return 0;
}
