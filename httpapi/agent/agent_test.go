package agent

import (
	"testing"

	"linkledger/robots"
)

func BenchmarkRead(b *testing.B) {
	table := robots.BuiltIn()
	for name, header := range map[string]string{
		"person": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Mobile " +
			"Safari/537.36",
		"robot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Read(table, header)
			}
		})
		b.Run(name+" described", func(b *testing.B) { // the cost without telling robots apart
			for b.Loop() {
				Describe(header)
			}
		})
	}
}
