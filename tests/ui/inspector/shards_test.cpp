// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of samples to ranks, below the fields of the data.
#include <QImage>
#include <algorithm>
#include <map>
#include <set>

#include "core/base/json.h"
#include "tests/ui/has_all.h"
#include "tests/ui/inspector/inspector_fixture.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

const data::ShardTable kShards{{4, 0, 1}, {0, 8, 2}};

class ShardBarsTest : public testing::Test {
 protected:
  ShardBarsTest() {
    bars_.show_shards(kShards);
    bars_.resize(300, bars_.sizeHint().height());
  }
  ~ShardBarsTest() override { Theme::instance().apply(Theme::Kind::light); }
  ShardBars bars_;
};

TEST_F(ShardBarsTest, have_heights_proportional_to_samples) {
  EXPECT_NEAR(bars_.bar(0, 0).height() * 2, bars_.bar(1, 1).height(), 1e-9);
  EXPECT_NEAR(bars_.bar(1, 2).height() * 4, bars_.bar(1, 1).height(), 1e-9);
  EXPECT_TRUE(bars_.bar(0, 1).isEmpty());
}

TEST_F(ShardBarsTest, one_sample_among_many_is_visible) {
  bars_.show_shards({{1'000'000, 1}});
  EXPECT_GE(bars_.bar(0, 1).height(), 1);
}

TEST_F(ShardBarsTest, show_the_sample_count_under_the_pointer) {
  EXPECT_EQ(bars_.text_at(bars_.bar(1, 1).center()), "rank 1, class 1: 8 samples");
  EXPECT_EQ(bars_.text_at({1, 1}), "");
}

TEST_F(ShardBarsTest, have_an_accessible_description_with_all_counts) {
  EXPECT_EQ(bars_.accessibleName(), "Samples by rank and class");
  EXPECT_EQ(bars_.accessibleDescription(),
            "rank 0: 5 samples, by class 4, 0, 1\nrank 1: 10 samples, by class 0, 8, 2");
}

TEST_F(ShardBarsTest, have_the_color_of_their_rank_in_both_themes) {
  for (const Theme::Kind kind : {Theme::Kind::light, Theme::Kind::dark}) {
    Theme::instance().apply(kind);
    bars_.resize(300, bars_.sizeHint().height());
    const QImage image = bars_.grab().toImage();
    const auto color_at = [&](const QPointF& place) {
      return image.pixelColor((place * image.devicePixelRatio()).toPoint());
    };
    EXPECT_EQ(color_at(bars_.bar(0, 0).center()), Theme::instance().series_color(0));
    EXPECT_EQ(color_at(bars_.bar(1, 1).center()), Theme::instance().series_color(1));
  }
}

TEST_F(ShardBarsTest, a_hundred_classes_and_ranks_are_separate_and_visible) {
  bars_.show_shards(data::ShardTable(100, std::vector<std::int64_t>(100, 7)));
  bars_.resize(300, bars_.sizeHint().height());
  EXPECT_GT(bars_.bar(99, 0).top(), bars_.bar(98, 0).bottom());
  EXPECT_LE(bars_.bar(99, 99).bottom(), bars_.height());
  EXPECT_LE(bars_.bar(0, 99).right(), bars_.width());
}

class InspectorShards : public InspectorTest {
 protected:
  void set(const char* path, const base::Json& value) {
    ASSERT_TRUE(document_.set_value(path, value).empty());
  }
  bool wait_for(const std::function<bool()>& done) { return QTest::qWaitFor(done); }
  const data::ShardTable& shards() { return inspector_.shards().bars().shards(); }
};

TEST_F(InspectorShards, iid_shows_the_assignment_of_the_first_epoch) {
  ASSERT_TRUE(wait_for([&] { return shards().size() == 2; }));
  EXPECT_TRUE(inspector_.shards().caption().contains("first epoch"))
      << inspector_.shards().caption().toStdString();
  EXPECT_FALSE(inspector_.shards().caption().contains("one device"));
}

TEST_F(InspectorShards, skew_shows_its_shards_and_a_caveat) {
  set("data.sharding.kind", "size_skew");
  ASSERT_TRUE(wait_for([&] {
    return data::samples_by_rank(shards()) == std::vector<std::int64_t>{6400, 1600};
  }));
  EXPECT_TRUE(inspector_.shards().caption().contains("one device"));
  set("data.sharding.size_ratio", 1);
  EXPECT_TRUE(wait_for([&] {
    return data::samples_by_rank(shards()) == std::vector<std::int64_t>{4000, 4000};
  }));
}

// All ranks have the same classes, so there are no bars.
TEST_F(InspectorShards, list_the_feature_columns_of_each_rank) {
  ASSERT_TRUE(wait_for([&] { return shards().size() == 2; }));
  set("data.sharding.kind", "vertical");
  ASSERT_TRUE(wait_for([&] {
    return inspector_.shards().columns().contains("rank 1: 392 of 784 feature columns, 392 to 783");
  }));
  EXPECT_THAT(inspector_.shards().caption(), test::HasAll("feature columns"));
  EXPECT_TRUE(inspector_.shards().bars().isHidden());
  set("data.sharding.kind", "iid");
  ASSERT_TRUE(wait_for([&] { return shards().size() == 2; }));
  EXPECT_EQ(inspector_.shards().columns(), "");
  EXPECT_FALSE(inspector_.shards().bars().isHidden());
}

TEST_F(InspectorShards, show_only_the_parameters_of_the_kind) {
  const auto forms = inspector_.form("data").findChildren<FieldForm*>();
  const auto sharding = std::ranges::find_if(
      forms, [](const FieldForm* form) { return form->findChild<FieldEditor*>("alpha"); });
  ASSERT_NE(sharding, forms.end());
  const auto field = [&](const char* name) { return (*sharding)->findChild<FieldEditor*>(name); };
  for (const auto& [kind, shown] :
       std::map<const char*, std::set<std::string>>{{"iid", {}},
                                                    {"contiguous", {}},
                                                    {"label_skew", {"alpha", "seed"}},
                                                    {"size_skew", {"size_ratio", "seed"}},
                                                    {"vertical", {}}}) {
    set("data.sharding.kind", kind);
    for (const char* name : {"alpha", "size_ratio", "seed"})
      EXPECT_EQ(!field(name)->isHidden(), shown.contains(name)) << kind << ", " << name;
  }
}

TEST_F(InspectorShards, show_recorded_shards_if_the_data_are_missing) {
  ASSERT_TRUE(wait_for([&] { return shards().size() == 2; }));
  set("data.kind", "csv");
  ASSERT_TRUE(wait_for([&] { return shards().empty(); }));
  EXPECT_EQ(inspector_.shards().caption(), "") << "shards of a missing file are unknown";
  inspector_.set_recorded_assignment([] { return DataAssignment{kShards, {}}; });
  set("data.file", "gone.csv");
  ASSERT_TRUE(wait_for([&] { return shards() == kShards; }));
  EXPECT_TRUE(inspector_.shards().caption().contains("recorded by the run"));
  inspector_.set_recorded_assignment([] {
    return DataAssignment{{}, {"3 of 7 feature columns", "4 of 7 feature columns"}};
  });
  set("data.file", "gone_too.csv");
  ASSERT_TRUE(wait_for([&] {
    return inspector_.shards().columns() ==
           "rank 0: 3 of 7 feature columns\nrank 1: 4 of 7 feature columns";
  }));
  EXPECT_THAT(inspector_.shards().caption(),
              test::HasAll("feature columns", "recorded by the run"));
  EXPECT_TRUE(inspector_.shards().bars().isHidden());
}

}  // namespace
}  // namespace trainyard::ui
