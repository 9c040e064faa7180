/* a process rests at its end label, but the trace is not complete */
chan c = [1] of { byte };
active proctype A() { c!1; end: c!2 }
trace { c!1; c!2; c!3 }
