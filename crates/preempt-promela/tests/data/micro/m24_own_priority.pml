byte g;
active proctype A() priority 2 { L: _priority = 1; g = 1; goto M; M: g = 2 }
active proctype B() priority 2 { g = 3; set_priority(_pid, 3); g = 4 }
