package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"time"

	"github.com/boombuler/barcode/qr"
	"github.com/uptrace/bunrouter"
)

const (
	qrPath    = "/qr.png" // below the short link
	sizeSmall = "small"
	sizeBig   = "big"

	// qrMargin is the white border that readers need.
	qrMargin = 4 // modules
)

// qrSides are the sides of the images, in pixels.
var qrSides = map[string]int{sizeSmall: 200, sizeBig: 600}

// qrImage serves the short link as a QR code.
func (s *server) qrImage(w http.ResponseWriter, r bunrouter.Request) error {
	e := exchangeOf(w, r)
	size := e.request.URL.Query().Get("size")
	setDefault(&size, sizeSmall)
	side, known := qrSides[size]
	if !known {
		return wrongInput("size must be small or big, not %q", size)
	}
	target, err := s.target(e)
	if err != nil {
		return err
	}
	if err := unavailable(target, s.cfg.Now().UTC()); err != nil {
		return err
	}
	if err := s.allowed(e, target, false); err != nil {
		return err
	}
	short := s.baseURL(e) + "/" + e.param("hash")
	encoded, err := encodeQR(short, side)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(encoded)
	header := w.Header()
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	header.Set("Cache-Control", "public, max-age=86400")
	header.Set("Content-Type", "image/png")
	http.ServeContent(w, e.request, "", time.Time{}, bytes.NewReader(encoded))
	return nil
}

// encodeQR returns a square PNG with the text, in whole pixels per module.
func encodeQR(text string, side int) ([]byte, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
	}
	modules := code.Bounds().Dx()
	pixels := max(1, side/(modules+2*qrMargin))
	side = max(side, modules+2*qrMargin)
	border := (side - modules*pixels) / 2
	drawn := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range modules * pixels {
		for x := range modules * pixels {
			if code.At(x/pixels, y/pixels) == color.Black {
				drawn.SetColorIndex(border+x, border+y, 1)
			}
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, drawn); err != nil {
		return nil, fmt.Errorf("encode a PNG: %w", err)
	}
	return encoded.Bytes(), nil
}
