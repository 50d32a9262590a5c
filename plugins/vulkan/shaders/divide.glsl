// Division by numbers that are known when a program is made: by a multiplication and a shift, with the two words of
// ops/divisor.h (T. Granlund, P. Montgomery, "Division by Invariant Integers using Multiplication", 1994).

// n / d for n below 2^31.
uint Quotient(uint n, uint multiplier, uint shift) {
  uint high, low;
  umulExtended(n, multiplier, high, low);
  return (high + n) >> shift;
}
