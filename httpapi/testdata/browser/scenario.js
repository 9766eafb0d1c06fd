"use strict";

// Uses every method of the client, and returns what each one led to.
async function useClient(api_root_url, username, api_key) {
  const client = new Client({ api_root_url, username, api_key });
  const outcomes = {};
  const step = async (name, promise, outcome) => {
    try {
      outcomes[name] = String(outcome(await promise));
    } catch (error) {
      outcomes[name] = "failed: " + (error.responseJSON ? error.responseJSON.error.code : error);
    }
  };
  const code = (answer) => answer.error.code;
  const errors = (answer) => answer.urls.filter((url) => url.error && url.error.code !== 0).length;
  const long_urls = Array.from({ length: 70 }, (_, i) => "https://example.com/?a=" + i + "&b=1;2,3");
  let made = [];

  await step("account", client.account_info(), (a) => a.account.username);
  await step("shorten", client.shorten("https://example.com/a+b", { custom_hash: "one", tags: ["alpha", "be ta"] }),
    (a) => a.urls[0].short_url);
  await step("shorten again", client.shorten("https://example.com/", { custom_hash: "one" }), (a) => a.urls[0].error.code);
  await step("mass shorten", client.mass_shorten(long_urls, { tags: ["mass"] }), (a) => {
    made = a.urls.map((url) => url.hash);
    return made.length + " with errors: " + errors(a);
  });
  await step("page", client.read_page({ limit: 65, offset: 1 }), (a) => a.urls.length + " of " + a.page.total_count);
  await step("search", client.read_page({ search: "a=69" }), (a) => a.page.total_count);
  await step("tags", client.tags(), (a) => a.tags.map((tag) => tag.label).sort());
  await step("domains", client.domains(), (a) => a.domains.map((domain) => domain.domain + " " + domain.status));
  await step("create tag", client.create_tag("new tag"), (a) => a.tags[0].label);
  await step("delete tag", client.delete_tag("new tag"), code);

  await step("read one", client.select_with_hashes(["one"]).read(), (a) => a.urls[0].tags.sort());
  await step("edit one", client.edit({ note: "n+1 & more", tags: ["-alpha"] }), (a) => a.urls[0].note);
  await step("reset one", client.reset_stats(), code);
  await step("read many", client.select_with_hashes(made.slice(0, 40)).read(), (a) => a.urls.length);
  await step("edit many", client.edit({ note: "edited" }), (a) => a.urls.length + " with errors: " + errors(a));
  await step("reset many", client.reset_stats(), code);
  await step("delete many", client.delete(), code);
  await step("read by tags", client.select_with_tags("+mass;~archived").read({ limit: 10 }), (a) => a.urls.length + " of " + a.page.total_count);
  await step("edit by tags", client.edit({ archived: true }), code);
  await step("reset by tags", client.select_with_tags("+mass").reset_stats(), code);
  await step("delete by tags", client.select_with_tags("+mass&+archived").delete(), code);
  await step("left", client.read_page({}), (a) => a.urls.map((url) => url.hash + " " + url.note));

  client.set_working_domain("sho.rt");
  await step("in the domain", client.account_info(), code);
  client.set_working_domain("other.example");
  await step("in another domain", client.account_info(), code);
  await step("with a wrong key", new Client({ api_root_url, username, api_key: "wrong" }).account_info(), code);
  return outcomes;
}

// Makes one call, and returns its status, the code in the envelope and the headers that the page may read; or that the
// browser has kept the answer from the page.
async function call(url, options) {
  try {
    const response = await fetch(url, options);
    const answer = await response.json();
    return { status: response.status, code: answer.error ? answer.error.code : 0, headers: Object.fromEntries(response.headers) };
  } catch (error) {
    return { kept: String(error) };
  }
}
