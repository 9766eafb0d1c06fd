"use strict";

// Makes the calls of the client that browsers used with the original of this API, in the same form: it keeps the
// settings of the call before, so a body of a POST or PATCH is sent again with a DELETE and stands behind the parameters
// of a GET; it escapes parameters as a whole URL; it splits lists into portions; and it refuses lists of another version.
class Client {
  constructor({ api_root_url, username, api_key }) {
    this.root = api_root_url;
    this.headers = { Authorization: "Basic " + btoa(username + ":" + api_key) };
    this.body = undefined;
    this.domain = undefined;
    this.selection = {};
  }

  async call(method, resource, parameters, payload) {
    if (this.domain) parameters = { ...parameters, domain: this.domain };
    let url = this.root + "/" + resource;
    if (parameters) {
      url += "?" + Object.entries(parameters).map(([name, value]) => encodeURI(name) + "=" + encodeURI(value)).join("&");
    }
    if (payload) {
      this.body = JSON.stringify(payload);
      this.headers["Content-Type"] = "application/json";
    }
    const request = { method, headers: { ...this.headers, Accept: "application/json, text/javascript, */*; q=0.01" } };
    if (method !== "GET") {
      request.body = this.body;
    } else {
      delete request.headers["Content-Type"];
      const left = this.body ? [this.body] : [];
      url += (url.includes("?") ? "&" : "?") + [...left, "_=" + Date.now()].join("&");
    }
    const response = await fetch(url, request);
    const answer = await response.json();
    if (!response.ok) throw { responseJSON: answer };
    return answer;
  }

  portions(items) {
    const portions = [];
    for (let at = 0; at < items.length; at += 30) portions.push(items.slice(at, at + 30));
    return portions;
  }

  async inPortions(items, call) {
    const answers = [];
    const portions = this.portions(items);
    while (portions.length > 0) answers.push(...(await Promise.all(portions.splice(0, 4).map(call))));
    if (answers.some((answer) => answer.version !== "3.1")) throw { error: { message: "another version" } };
    return { error: { code: 0 }, urls: answers.flatMap((answer) => answer.urls || []) };
  }

  set_working_domain(domain) { this.domain = domain; }
  account_info() { return this.call("GET", "account"); }
  tags() { return this.call("GET", "tags"); }
  domains() { return this.call("GET", "domains"); }
  create_tag(label) { return this.call("POST", "tags", {}, { label }); }
  delete_tag(label) { return this.call("DELETE", "tags/" + label); }
  shorten(long_url, data) { return this.call("POST", "urls", null, { urls: [{ long_url, ...data }] }); }

  mass_shorten(long_urls, data) {
    return this.inPortions(long_urls, (portion) =>
      this.call("POST", "urls", null, { urls: portion.map((long_url) => ({ long_url, ...data })) }));
  }

  async read_page({ limit = 30, offset = 0, ...parameters }) {
    const calls = [];
    for (let at = 0; at < limit; at += 30) {
      calls.push(this.call("GET", "urls", { ...parameters, limit: Math.min(30, limit - at), offset: offset + at }));
    }
    const pages = await Promise.all(calls);
    return { urls: pages.flatMap((page) => page.urls), page: { total_count: pages[0].page.total_count } };
  }

  select_with_hashes(hashes) { this.selection = { hashes }; return this; }
  select_with_tags(tags) { this.selection = { tags }; return this; }

  read(parameters) {
    if (this.selection.tags) return this.read_page({ ...parameters, tags: this.selection.tags });
    return this.onSelection("GET", "urls");
  }

  edit(data) { return this.onSelection("PATCH", "urls", { urls: [data] }); }
  delete() { return this.onSelection("DELETE", "urls"); }
  reset_stats() { return this.onSelection("DELETE", "stats"); }

  onSelection(method, resource, payload) {
    if (this.selection.tags) return this.call(method, resource, { tags: this.selection.tags }, payload);
    return this.inPortions(this.selection.hashes, (portion) =>
      this.call(method, resource, { hashes: portion.join(",") }, payload));
  }
}
