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
  const std::string id(page.records()[0].id());
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
  SURE(!found.get<std::string>("/contacts/0/id").empty() && found.get<std::int64_t>("/pagination/total") > 0);
  client.delete_pool("one");
  SURE(client.try_delete_pool("two"));
  const auto refused = client.try_get_contact("");
  SURE(!refused && refused.error().code() == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  talentdata::list_projects_options filter;
  filter.region = "eu";
  filter.state = {"open", "shut"};
  filter.min_size = 0;
  filter.x_tenant = "mine";
  std::size_t count = 0;
  auto projects = client.list(talentdata::projects, filter);
  for (const auto &project : projects) count += !project.get<talentdata::record>("id").json().empty();
  SURE(count == 600);
  SURE(client.page(talentdata::projects, 1, 0, filter).records().size() == 1);
  SURE(client.plan(talentdata::projects, filter).get<std::int64_t>("records") == 600);
  SURE(client.schema(talentdata::projects, filter).get<std::string>("resource") == "projects");
  talentdata::options named;
  named.add("region", "us").add("minSize", 3);
  SURE(client.page(talentdata::projects, 1, 0, named).records().size() == 1);
  SURE(client.try_export_job(talentdata::projects, "projects.jsonl", filter));
  SURE(!client.try_export_job(talentdata::projects, "projects.jsonl"));
  talentdata::options many;
  many.set("page_size", 26);
  try {
    (void)client.export_job(talentdata::contacts, "trial", many, static_cast<talentdata::format>(TALENTDATA_FORMAT_TRIAL));
    SURE(false);
  } catch (const talentdata::trial_error &) {
  }
  filter.region.reset();
  const auto missing = client.try_page(talentdata::projects, 1, 0, filter);
  SURE(!missing && missing.error().code() == TALENTDATA_ERROR_KIND_INVALID_ARGUMENT);
  return 0;
}
