package leaf

// IsPlain is the fast test whose verdicts a fuzz test compares with encoding/json.
var IsPlain = isPlain
