// Calls each new operation from C++.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <talentdata.hpp>

#define SURE(holds) \
  if (!(holds)) std::fprintf(stderr, "not so: %s\n", #holds), std::exit(1)

int main() {
  const talentdata::client client{talentdata::config()};
  const auto page = client.page(talentdata::contacts, 1, 0);
  const std::string id(page[0].id());
  talentdata::get_contact_options options;
  options.include = {"pools", "a&b"};
  options.depth = 2;
  options.x_trace = "trial";
  const auto contact = client.get_contact(id, options);
  const auto same = client.get_contact(id);
  SURE(contact.id() == id && same.email() == contact.email());
  talentdata::contact_search search;
  search.limit = 3;
  search.states = {"active", "left"};
  search.place = talentdata::place{"Utrecht \"\\\n", {}};
  search.match = talentdata::raw_json{"7"};
  const auto found = client.search_contacts(search);
  SURE(found.value("/contacts/0/id") && found.value("/pagination/total"));
  client.delete_pool("one");
  SURE(client.try_delete_pool("two"));
  const auto refused = client.try_get_contact("");
  SURE(!refused && refused.error().code() == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  talentdata::list_projects_options filter;
  filter.region = "eu";
  filter.state = {"open", "shut"};
  filter.min_size = 0;
  filter.x_tenant = "mine";
  talentdata::scan_options all;
  all.parameters = filter;
  std::size_t count = 0;
  auto projects = client.list(talentdata::projects, all);
  for (const auto &project : projects) count += project.value("id") ? 1 : 0;
  SURE(count == 600);
  SURE(client.page(talentdata::projects, 1, 0, filter).size() == 1);
  SURE(client.plan(talentdata::projects, filter).integer("records") == 600);
  SURE(client.schema(talentdata::projects, "typed", filter).text("resource") == "projects");
  const auto named = talentdata::parameters().add("region", "us").add("minSize", 3);
  SURE(client.page(talentdata::projects, 1, 0, named).size() == 1);
  talentdata::export_options filtered;
  filtered.scan = all;
  SURE(client.try_export_job(talentdata::projects, "projects.jsonl", filtered));
  SURE(!client.try_export_job(talentdata::projects, "projects.jsonl"));
  filtered.format = TALENTDATA_FORMAT_TRIAL;
  filtered.scan.page_size = 26;
  try {
    (void)client.export_job(talentdata::contacts, "trial", filtered);
    SURE(false);
  } catch (const talentdata::trial_error &) {
  }
  filter.region.reset();
  const auto missing = client.try_page(talentdata::projects, 1, 0, filter);
  SURE(!missing && missing.error().code() == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  return 0;
}
