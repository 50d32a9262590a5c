// Division by numbers that are known when a program is made, without a division: by multiplication and a shift, the two
// words of ops/divisor.h. The method is Granlund's and Montgomery's ("Division by Invariant Integers using
// Multiplication").

// n / d for n below 2^31.
uint Quotient(uint n, uint multiplier, uint shift) {
  uint high, low;
  umulExtended(n, multiplier, high, low);
  return (high + n) >> shift;
}
