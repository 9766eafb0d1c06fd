package domain

import (
	"strings"
	"time"
	"unicode"

	"linkledger/events"
)

const maxNote = 25 // code points

// CheckDate refuses, with InvalidDate, a text that is no calendar date in the form YYYY-MM-DD. It
// accepts the empty string, which means no date.
func CheckDate(date string) error {
	if date == "" {
		return nil
	}
	// PostgreSQL has no year 0.
	if parsed, err := time.Parse(time.DateOnly, date); err != nil || parsed.Year() < 1 {
		return Refuse(
			InvalidDate, "The expiration date must be a calendar date in the form YYYY-MM-DD",
		)
	}
	return nil
}

// CheckSettings refuses an expiration date as CheckDate does, and a negative limit of clicks with
// InvalidValue.
func CheckSettings(c events.SettingsChange) error {
	if c.ExpirationDate != nil {
		if err := CheckDate(*c.ExpirationDate); err != nil {
			return err
		}
	}
	if c.MaxClicks != nil && *c.MaxClicks < 0 {
		return Refuse(InvalidValue, "max_clicks must not be negative; 0 means no limit")
	}
	return nil
}

// TrimNote returns the stored form of a note: its first 25 code points. Line breaks and tabs become
// spaces, and other control characters are left out.
func TrimNote(note string) string {
	note = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r) && unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(note, "\uFFFD"))
	n := 0
	for i := range note {
		if n == maxNote {
			return note[:i]
		}
		n++
	}
	return note
}
