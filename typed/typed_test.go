package typed

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTrim(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		" \t\r\n\v\f\u0085\u00a0\u3000": "",
		"\ufeffa\u200b":                 "a",
		"\u200e\u00a0a\u2060 \u200f":    "a",
		"a\u200db":                      "a\u200db",
		"\u2764\ufe0f":                  "\u2764\ufe0f", // the heart of emojis
		"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f": "" +
			"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
		"a\ufffc":       "a",
		"\u3164a\u2800": "a",
		"\u00ada\u00ad": "a",
	} {
		if got := Trim(text); got != want {
			t.Errorf("%q is trimmed to %q; want %q", text, got, want)
		}
	}
}

func TestInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range []rune{
		0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e, 0x200f,
		0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x206f, 0x2800, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9,
		0xfffc, 0x1d173, 0xe0001, 0xe0020, 0xe0100,
	} {
		if !Invisible(r) {
			t.Errorf("%U is visible", r)
		}
	}
	for _, r := range []rune{
		'a', ' ', '\t', 0xa0, 0xe9, 0x300, 0x600, 0x6dd, 0x70f, 0x905, 0x94d, 0x1f600, 0x1f3fb, 0x20e3, 0x3000,
		0x4e00, 0xfffd, 0x13430,
	} {
		if Invisible(r) {
			t.Errorf("%U is invisible", r)
		}
	}
}

func TestDirection(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "", "é\u200e": "", "a\u202eb": "RIGHT-TO-LEFT OVERRIDE", "\u2066a\u2069": "LEFT-TO-RIGHT ISOLATE",
		"\u202c": "POP DIRECTIONAL FORMATTING",
	} {
		if got, _ := Direction(text); got != want {
			t.Errorf("%q: %q; want %q", text, got, want)
		}
	}
	if len(directions) != 9 {
		t.Errorf("%d characters set a direction; want 9", len(directions))
	}
}

func TestFold(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"abc", "ABC", "aBc"},
		{"straße", "STRASSE", "STRAẞE", "Strasse"},
		{"οδος", "ΟΔΟΣ", "Οδοσ", "οδοσ"},
		{"Café", "CAFÉ", "cafe\u0301", "CAFE\u0301"},
		{"ﬁle", "FILE"},
		{"i\u0307stanbul", "İstanbul"},
		{"привет", "ПРИВЕТ"},
		{"ŉ", "ʼn"},
		{"é\u00a0a", "É A", "é\u3000a"},
		{"a\u00a0b", "a b"},
		{"\u2764\ufe0f", "\u2764", "\u2764\ufe0e"},
		{"ᾳ", "ΑΙ", "ᾼ"},
		{"ǰ", "J\u030c"},
		{"ꮿ", "Ꮿ"},
		{"\u212b", "å", "a\u030a", "Å"},
		{"\u1e69", "s\u0323\u0307", "s\u0307\u0323"},
	} {
		for _, text := range same {
			if got, want := Fold(text), Fold(same[0]); got != want {
				t.Errorf("%q is %q, and %q is %q", text, got, same[0], want)
			}
		}
	}
	for _, different := range [][2]string{
		{"cafe", "café"}, {"a", "ａ"}, {"x²", "x2"}, {"می\u200cخواهم", "میخواهم"}, {"ı", "i"},
	} {
		if Fold(different[0]) == Fold(different[1]) {
			t.Errorf("%q and %q are the same", different[0], different[1])
		}
	}
}

// TestFoldIsWider checks that texts which are the same under simple case folding, as labels were
// compared before, are the same under Fold.
func TestFoldIsWider(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if other := unicode.SimpleFold(r); other != r && Fold(string(r)) != Fold(string(other)) {
			t.Errorf("%U and %U are folded to %q and %q", r, other, Fold(string(r)), Fold(string(other)))
		}
	}
}

// FuzzFold checks that the folded form of a folded text is itself, and that UTF-8 stays UTF-8.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"a", "ΟΔΟΣ", "\u0345\u0301", "\u1fb7\u0345", "ẞ\u0323", "\xff", "\u0390\u0308"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Fold(text)
		if again := Fold(once); utf8.ValidString(text) && (again != once || !utf8.ValidString(once)) {
			t.Errorf("%q is folded to %q, and that to %q", text, once, again)
		}
	})
}
