
BprobabilityJJë?