/* enabled() of another process */
byte g;
active proctype A() { g == 1 -> g = 2 }
active proctype B() { if :: enabled(0) -> g = 3 :: g = 1 fi; (g == 2) }
