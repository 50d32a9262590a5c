
BprobabilityJ“®7?