// Package console serves the pages of the console. A page makes calls of the API with the session
// of the browser, in this process, and shows their answers. So the console can do nothing that the
// API cannot, every page can show the calls that it made, and the rights of keys and roles are
// checked in one place.
//
// The pages work without JavaScript. Their policy allows no inline script and no inline style.
package console
