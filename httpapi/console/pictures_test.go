package console_test

import (
	"fmt"
	"strings"
	"testing"

	"linkledger/httpapi/httpapitest"
	"linkledger/httpapi/pagetest"
)

// TestPictures opens the links of a small shop, whose pictures the README has. make pictures takes
// them.
func TestPictures(t *testing.T) {
	t.Parallel()
	s, owner, b := pagetest.NewConsole(t)
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	for i, link := range []struct{ hash, path, note, tags string }{
		{"spring-sale", "sale/spring", "Posters in the window", `"posters","sale"`},
		{"menu", "menu.pdf", "QR code on the tables", `"qr"`},
		{"jobs", "careers", "", `"posters"`},
		{"opening", "hours#holidays", "Printed on the bags", `"print"`},
		{"newsletter", "newsletter/2026-05", "", `"mail"`},
		{"loyalty", "members/join", "Card at the till", `"print","qr"`},
	} {
		owner.Create(fmt.Sprintf(`"long_url":"https://shop.example/%s","custom_hash":%q,"note":%q,"tags":[%s]`,
			link.path, link.hash, link.note, link.tags))
		for range (i*5)%13 + 2 {
			s.Visit(t, "GET", "/"+link.hash, httpapitest.Header("User-Agent", firefox),
				httpapitest.Header("Referer", "https://"+strings.Repeat("a", i+1)+".example/"))
		}
	}
	owner.Must("PATCH", "/v3/urls/opening", `{"urls":[{"protected":true}]}`)
	s.CatchUp(t)
	b.LooksRight(map[string]string{"pictures": "/console/links"})
}
