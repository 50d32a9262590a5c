// The order of elements in TopK, for kernels with a T that can be compared. NaN is the largest value. Of equal
// elements, the one with the lower index comes first.
layout(constant_id = 0) const uint kLargest = 1;

bool Before(C a, uint at_a, C b, uint at_b) {
#if defined(T_F32) || defined(T_F16)
  const bool a_nan = IsNan(a);
  const bool b_nan = IsNan(b);
  if (a_nan && b_nan) return at_a < at_b;
  if (a_nan != b_nan) return a_nan == (kLargest != 0);
#endif
  if (a == b) return at_a < at_b;
  return kLargest != 0 ? a > b : a < b;
}
