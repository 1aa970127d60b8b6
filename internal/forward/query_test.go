package forward

import (
	"fmt"
	"testing"
)

func TestWithoutQuery(t *testing.T) {
	for url, want := range map[string]string{
		"http://127.0.0.1:8080/loans":                      "http://127.0.0.1:8080/loans",
		"http://127.0.0.1:8080/loans?token=secret":         "http://127.0.0.1:8080/loans",
		"unix:///run/app.sock:/loans?token=secret":         "unix:///run/app.sock:/loans",
		"https://library.example.com?token=secret?another": "https://library.example.com",
	} {
		if got := WithoutQuery(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

func TestResponseShowsNoSecretOfTheURL(t *testing.T) {
	tests := []struct{ name, query, body, want string }{
		{"the query as it was sent", "?token=S3CRETQ8&tenant=7", "no /hook?token=S3CRETQ8&tenant=7 here", "no /hook?*** here"},
		{"a value alone", "?tenant=7&token=S3CRETQ8", "token S3CRETQ8 of tenant 7 is wrong", "token *** of tenant 7 is wrong"},
		{"a value as it was sent", "?token=S3%2FCR%20ET&a=b", "token=S3%2FCR%20ET", "token=***"},
		{"a value decoded", "?token=S3%2FCR%20ET&a=b", "token S3/CR ET is wrong", "token *** is wrong"},
		{"a plus sign that is a blank", "?token=S3+CR%3D%3D&a=b", "token S3 CR== is wrong", "token *** is wrong"},
		{"a plus sign that is none", "?token=S3+CR%3D%3D&a=b", "token S3+CR== is wrong", "token *** is wrong"},
		{"a token without a name", "?S3CRETQ8&a=b", "S3CRETQ8 is wrong", "*** is wrong"},
		{"what is not encoded properly", "?token=S3CRETQ8%zz&a=b", "S3CRETQ8%zz is wrong", "*** is wrong"},
		{"a word", "?format=json", "no json: {}", "no json: {}"},
		{"too short for a secret", "?v=2", "version 2 and v=2", "version 2 and v=2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 400 X\r\nContent-Length: %d\r\n\r\n%s", len(tt.body), tt.body)))
			got := post(t, newClient(t, s.url, func(c *Config) { c.URL += tt.query }), nil)
			if string(got.Response) != tt.want {
				t.Errorf("captured %q, want %q", got.Response, tt.want)
			}
		})
	}
}

func TestAppVersionShowsNoSecretOfTheURL(t *testing.T) {
	s := serveWire(t, answering("HTTP/1.1 200 OK\r\nX-App-Version: S3CRETQ8\r\nContent-Length: 0\r\n\r\n"))
	got := post(t, newClient(t, s.url, func(c *Config) { c.URL, c.AppVersionHeader = c.URL+"?token=S3CRETQ8", "X-App-Version" }), nil)
	if got.AppVersion != "***" {
		t.Errorf("app version %q", got.AppVersion)
	}
}
