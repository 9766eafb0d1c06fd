package secret

import "testing"

func TestPasted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"lk_key": "lk_key", " lk_key\r\n": "lk_key", "\u00a0lk_key\u00a0": "lk_key", "\ufefflk_key\u200b": "lk_key",
		"\u2060lk_key\u200e\u3000\t": "lk_key", "a b\u200bc": "a b\u200bc", " \u200b ": "", "": "", "\xff": "\xff",
	} {
		if got := Pasted(text); got != want {
			t.Errorf("%q is %q; want %q", text, got, want)
		}
	}
}
