//! Runs tests/browser/test.mjs when a browser and node are at hand.
