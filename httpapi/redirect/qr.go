package redirect

import (
	"bytes"
	"cmp"
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

	"linkledger/httpapi/apierror"
	"linkledger/httpapi/request"
	"linkledger/httpapi/shortlink"
)

// qrMargin is the white border that QR readers need.
const qrMargin = 4 // modules

// qrSides are the sides of the images, in pixels.
var qrSides = map[string]int{shortlink.QRSmall: 200, shortlink.QRBig: 600}

// qrImage serves the QR code of a short link.
func (h *Handler) qrImage(w http.ResponseWriter, r bunrouter.Request) error {
	c := request.Of(w, r)
	size := cmp.Or(c.Request.URL.Query().Get("size"), shortlink.QRSmall)
	side, known := qrSides[size]
	if !known {
		return apierror.WrongInput("size must be small or big, not %q", size)
	}
	link, hash, err := h.find(c, h.cfg.Now().UTC())
	if err != nil {
		return err
	}
	if _, err := h.checkLimit(c, hash, link, false); err != nil {
		return err
	}
	short := h.cfg.Base.Of(c.Request) + "/" + hash
	encoded, err := encodeQR(short, side)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(encoded)
	header := w.Header()
	header.Set("ETag", `"`+hex.EncodeToString(sum[:16])+`"`)
	header.Set("Cache-Control", "public, max-age=86400")
	header.Set("Content-Type", "image/png")
	http.ServeContent(w, c.Request, "", time.Time{}, bytes.NewReader(encoded))
	return nil
}

// encodeQR returns a PNG with the QR code of a text. side is its width and height in pixels. Every
// module has the same number of pixels, and the image grows if side is too small for one pixel per
// module.
func encodeQR(text string, side int) ([]byte, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, fmt.Errorf("QR code of %d bytes: %w", len(text), err)
	}
	modules := code.Bounds().Dx()
	pixels := max(1, side/(modules+2*qrMargin))
	side = max(side, modules+2*qrMargin)
	border := (side - modules*pixels) / 2
	drawn := image.NewPaletted(
		image.Rect(0, 0, side, side), color.Palette{color.White, color.Black},
	)
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
