/* D_proctype: a second enabled option is an error */
byte g; chan c = [1] of { byte };
active D_proctype A() { byte x; if :: g == 0 -> x = 1 :: g < 2 -> g = 2 :: c?x fi }
active proctype B() { g = 1; c!1 }
