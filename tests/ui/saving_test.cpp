// SPDX-License-Identifier: GPL-3.0-or-later
// Handling of unsaved changes, with answers in place of dialogs.
#include <QFile>
#include <QSignalSpy>

#include "tests/ui/answered_window.h"

namespace trainyard::ui {
namespace {

using Saving = test::AnsweredWindow;

TEST_F(Saving, save_as_writes_a_file_that_opens_again) {
  ASSERT_TRUE(window_->open(example("one_device_digits.json")));
  change();
  file_ = directory_.filePath("mine.json");
  EXPECT_TRUE(window_->files().save_as());
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_TRUE(window_->windowTitle().startsWith("mine.json"));
  ASSERT_TRUE(window_->files().new_document());
  ASSERT_TRUE(window_->open(file_));
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 77);
}

TEST_F(Saving, failed_save_is_reported_with_advice) {
  change();
  file_ = "/proc/nothing/mine.json";
  EXPECT_FALSE(window_->files().save());
  EXPECT_TRUE(window_->center().errors().isVisible());
  EXPECT_TRUE(window_->center().errors().text().contains("cannot be saved"));
  EXPECT_TRUE(window_->isWindowModified());
}

TEST_F(Saving, message_of_a_failed_save_disappears_after_a_successful_one) {
  const auto reports_failed_save = [&] {
    return window_->center().errors().isVisible() &&
           window_->center().errors().text().contains("cannot be saved");
  };
  change();
  file_ = "/proc/nothing/mine.json";
  EXPECT_FALSE(window_->files().save());
  ASSERT_TRUE(reports_failed_save());
  window_->document().set_value("training.epochs", 3);
  window_->document().judge();
  ASSERT_TRUE(QSignalSpy(&window_->document(), &Document::judged).wait());
  EXPECT_FALSE(window_->files().save());
  EXPECT_TRUE(reports_failed_save()) << "the save failed again";
  file_ = directory_.filePath("mine.json");
  EXPECT_TRUE(window_->files().save());
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(Saving, message_of_a_refused_text_disappears_after_its_correction) {
  change();
  window_->document().set_refused(base::Problem{"out_of_range", base::ProblemCode::bad_input,
                                                "training.batch_per_rank", "0 is out of range", "",
                                                ""});
  EXPECT_FALSE(window_->files().save());
  ASSERT_TRUE(window_->center().errors().isVisible());
  ASSERT_TRUE(window_->center().errors().text().contains("cannot be saved"));
  window_->document().set_refused({});
  EXPECT_TRUE(window_->center().errors().isHidden());
}

TEST_F(Saving, keeps_unrelated_messages) {
  file_ = directory_.filePath("mine.json");
  ASSERT_FALSE(window_->open(directory_.filePath("missing.json")));
  change();
  EXPECT_TRUE(window_->files().save());
  EXPECT_FALSE(window_->center().errors().isHidden());
}

TEST_F(Saving, asks_about_unsaved_changes_before_another_document) {
  change();
  EXPECT_FALSE(window_->files().new_document());
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 77);
  save_answer_ = SaveAnswer::discard;
  EXPECT_TRUE(window_->files().new_document());
  EXPECT_EQ(window_->document().experiment().training.batch_per_rank, 32);
}

TEST_F(Saving, cancel_keeps_the_window_open_on_close) {
  change();
  EXPECT_FALSE(window_->close());
  EXPECT_TRUE(window_->isVisible());
  save_answer_ = SaveAnswer::save;
  file_ = directory_.filePath("kept.json");
  EXPECT_TRUE(window_->close());
  EXPECT_TRUE(QFile::exists(file_));
}

}  // namespace
}  // namespace trainyard::ui
