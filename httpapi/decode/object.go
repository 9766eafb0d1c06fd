package decode

import (
	"encoding/json"
	"fmt"
	"strconv"

	"linkledger/httpapi/apierror"
)

// Object is a decoded JSON object or form. Its methods return the fields by name, and nil if a
// field is absent or null. They set Err at the first value of a wrong type.
type Object struct {
	Path   string // prefix of the names of fields in errors, such as "urls[0]."
	Values map[string]any
	Err    error
}

func (o *Object) refuse(name, needed string) {
	if o.Err == nil {
		o.Err = apierror.WrongInput("%s%s must be %s", o.Path, name, needed)
	}
}

// IsNull reports whether a field is given and null.
func (o *Object) IsNull(name string) bool {
	value, given := o.Values[name]
	return given && value == nil
}

// Text returns a field that has to be a string.
func (o *Object) Text(name string) *string {
	switch value := o.Values[name].(type) {
	case nil:
		return nil
	case string:
		return &value
	case formValues:
		if len(value) == 1 {
			return &value[0]
		}
	}
	o.refuse(name, "a string")
	return nil
}

// Boolean returns a field that has to be a boolean.
func (o *Object) Boolean(name string) *bool {
	switch value := o.Values[name].(type) {
	case nil:
		return nil
	case bool:
		return &value
	case formValues:
		if len(value) != 1 {
			break
		}
		switch value[0] {
		case "1", "true":
			return new(true)
		case "0", "false":
			return new(false)
		}
	}
	o.refuse(name, "true or false")
	return nil
}

// Integer returns a field that has to be an integer.
func (o *Object) Integer(name string) *int64 {
	var digits string
	switch value := o.Values[name].(type) {
	case nil:
		return nil
	case json.Number:
		digits = value.String()
	case formValues:
		if len(value) == 1 {
			digits = value[0]
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		o.refuse(name, "an integer")
		return nil
	}
	return &n
}

// List returns a field that has to be a list of strings.
func (o *Object) List(name string) []string {
	switch value := o.Values[name].(type) {
	case nil:
		return nil
	case formValues:
		return value
	case []any:
		list := make([]string, len(value))
		for i := range value {
			item := Object{Path: o.Path, Values: map[string]any{name: value[i]}}
			text := item.Text(name)
			if text == nil {
				o.refuse(fmt.Sprintf("%s[%d]", name, i), "a string")
				return nil
			}
			list[i] = *text
		}
		return list
	}
	o.refuse(name, "an array of strings")
	return nil
}

// Objects returns a field that has to be a list of objects.
func (o *Object) Objects(name string) []Object {
	value, given := o.Values[name]
	if !given || value == nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		o.refuse(name, "an array of objects")
		return nil
	}
	objects := make([]Object, len(list))
	for i := range list {
		values, ok := list[i].(map[string]any)
		if !ok {
			o.refuse(fmt.Sprintf("%s[%d]", name, i), "an object")
			return nil
		}
		objects[i] = Object{Path: fmt.Sprintf("%s%s[%d].", o.Path, name, i), Values: values}
	}
	return objects
}
