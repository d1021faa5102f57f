#include <gmock/gmock.h>

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QMouseEvent>
#include <QScrollBar>
#include <QTest>
#include <QWheelEvent>
#include <random>

#include "viewer/testing/profile.h"
#include "viewer/testing/shown_window.h"
#include "viewer/window/main_window.h"

// Runs that nobody would record on purpose: they open or say why not, and can be looked at.
namespace pipetrace {
namespace {

using testing::HasSubstr;

class UnusualRunsTest : public testing::Test {
 protected:
  UnusualRunsTest() {
    window_.resize(1100, 700);
    showActive(window_);
  }

  QString fileOf(const QByteArray& contents, const QString& name = "run.json") const {
    const QString path = folder_.path() + "/" + name;
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(contents);
    return path;
  }

  /// Complete events of Chrome JSON. Times are texts, in microseconds.
  static QByteArray job(const QByteArray& name, const QByteArray& begin, const QByteArray& length,
                        int rank = 0) {
    return R"({"ph":"X","name":")" + name + R"(","pid":)" + QByteArray::number(rank) +
           R"(,"tid":0,"ts":)" + begin + R"(,"dur":)" + length +
           R"(,"args":{"step":0,"micro_batch_id":1}})";
  }
  static QByteArray trace(const QList<QByteArray>& jobs) {
    return R"({"traceEvents":[)" + jobs.join(",\n") + "]}";
  }

  void open(const QString& path) {
    window_.open({path});
    ASSERT_TRUE(QTest::qWaitFor([&] { return window_.profile() != nullptr; }, 60'000))
        << window_.message().toStdString();
  }

  /// Uses the chart: zooms to the limit and back, pans, points, clicks, walks.
  void use() {
    ChartWidget& chart = *window_.chart();
    std::mt19937 random(3);
    const auto point = [&] {
      return QPoint(static_cast<int>(random() % 1100), static_cast<int>(random() % 700));
    };
    const auto wheel = [&](QPoint at, QPoint angle, Qt::KeyboardModifiers modifiers) {
      QWheelEvent event(at, chart.viewport()->mapToGlobal(at), QPoint(), angle, Qt::NoButton,
                        modifiers, Qt::NoScrollPhase, false);
      QCoreApplication::sendEvent(chart.viewport(), &event);
      chart.viewport()->repaint();
    };
    QTest::keyClick(&chart, Qt::Key_F);
    for (int i = 0; i < 30; ++i) wheel(point(), {0, 360}, Qt::ControlModifier);
    for (int i = 0; i < 10; ++i) wheel(point(), {0, i % 3 == 0 ? 240 : -120}, Qt::ShiftModifier);
    for (int i = 0; i < 30; ++i) {
      wheel(point(), {0, -360}, Qt::ControlModifier);
      QTest::mouseMove(chart.viewport(), point());
      QTest::mouseClick(chart.viewport(), Qt::LeftButton, Qt::NoModifier, point());
      QCoreApplication::processEvents();
    }
    for (const Qt::Key key : {Qt::Key_PageDown, Qt::Key_PageUp, Qt::Key_Escape, Qt::Key_F}) {
      QTest::keyClick(&chart, key);
    }
    chart.verticalScrollBar()->setValue(chart.verticalScrollBar()->maximum());
    chart.viewport()->repaint();
    EXPECT_FALSE(window_.grab().isNull());
  }

  std::size_t jobCount() const {
    const ChartModel& model = window_.profile()->model();
    return model.jobCount() + model.transferCount() + model.operatorCount();
  }

  std::string refusal(const QString& path) {
    window_.open({path});
    EXPECT_TRUE(
        QTest::qWaitFor([&] { return window_.message().contains("could not be opened"); }, 20'000));
    return window_.message().toStdString();
  }

  QTemporaryDir folder_;
  MainWindow window_;
};

TEST_F(UnusualRunsTest, AnEmptyFileIsRefusedWithAdvice) {
  EXPECT_THAT(refusal(fileOf("", "workerlog.0")), HasSubstr("give a folder of workerlog.<rank>"));
}

TEST_F(UnusualRunsTest, AnEmptyFolderIsRefusedWithAdvice) {
  EXPECT_THAT(refusal(folder_.path()), HasSubstr(folder_.path().toStdString()));
}

TEST_F(UnusualRunsTest, OneJobIsShown) {
  open(fileOf(trace({job("forward", "5", "3")})));
  EXPECT_EQ(jobCount(), 1U);
  use();
}

TEST_F(UnusualRunsTest, JobsWithoutLengthAreShown) {
  QList<QByteArray> jobs;
  for (int i = 0; i < 200; ++i) jobs.push_back(job("forward", QByteArray::number(i / 4 * 10), "0"));
  open(fileOf(trace(jobs)));
  EXPECT_EQ(jobCount(), 200U);
  use();
}

TEST_F(UnusualRunsTest, NanosecondJobsInThreeDaysAreFoundByZooming) {
  open(fileOf(trace({job("forward", "0.001", "0.001"), job("backward", "0.003", "0.002"),
                     job("forward", "259200000000.001", "0.001"),
                     job("backward", "259200000000.003", "0.005")})));
  EXPECT_GE(window_.profile()->model().span().end - window_.profile()->model().span().begin,
            259'200'000'000'000);
  use();
}

TEST_F(UnusualRunsTest, NegativeAndHugeTimesAreShown) {
  open(fileOf(trace({job("forward", "-15000000000000.5", "7"), job("backward", "-3", "7"),
                     job("forward", "15000000000000.25", "9")})));
  EXPECT_EQ(jobCount(), 3U);
  use();
}

TEST_F(UnusualRunsTest, TimesThatLieYearsApartAreRefusedWithAdvice) {
  EXPECT_THAT(refusal(fileOf(trace({job("forward", "-9000000000000000", "7"),
                                    job("forward", "9000000000000000", "9")}))),
              HasSubstr("leave that log out"));
}

TEST_F(UnusualRunsTest, FiveThousandRowsCanBeScrolled) {
  QList<QByteArray> jobs;
  for (int rank = 0; rank < 5000; ++rank) {
    jobs.push_back(job("forward", QByteArray::number(rank), "900", rank));
  }
  open(fileOf(trace(jobs)));
  EXPECT_GE(window_.profile()->model().rows().size(), 5000U);
  EXPECT_GT(window_.chart()->verticalScrollBar()->maximum(), 5000);
  use();
}

TEST_F(UnusualRunsTest, LongAndRightToLeftNamesAreShown) {
  const QByteArray longName(10'000, 'x');
  const QByteArray hebrew = "\xd7\xa7\xd7\x93\xd7\x99\xd7\x9e\xd7\x94";
  const QByteArray arabic = "\xd8\xa3\xd9\x85\xd8\xa7\xd9\x85 forward \xe2\x80\xae mb 3";
  QList<QByteArray> jobs;
  for (int i = 0; i < 30; ++i) {
    const QByteArray begin = QByteArray::number(i * 100);
    jobs.push_back(job(i % 3 == 0 ? longName : i % 3 == 1 ? hebrew : arabic, begin, "90"));
  }
  open(fileOf(trace(jobs)));
  EXPECT_EQ(jobCount(), 30U);
  use();
  EXPECT_LT(window_.minimumSizeHint().width(), 1100) << "a long name does not widen the window";
}

TEST_F(UnusualRunsTest, AFileThatChangesOrVanishesWhileOpenStaysOnTheScreen) {
  const TestLogs logs;
  open(QString::fromStdString(logs.path()));
  QFile changed(QString::fromStdString(logs.file("workerlog.0")));
  ASSERT_TRUE(changed.resize(100));
  ASSERT_TRUE(QFile::remove(QString::fromStdString(logs.file("workerlog.1"))));
  use();
  EXPECT_EQ(window_.profile()->model().rankCount(), 4U);
  ASSERT_TRUE(QDir(QString::fromStdString(logs.path())).removeRecursively());
  use();
  // Opened again, it says what is gone, and the picture stays.
  const LoadedProfile* const shown = window_.profile();
  window_.open({QString::fromStdString(logs.path())});
  QWidget* box = nullptr;
  ASSERT_TRUE(QTest::qWaitFor([&] { return (box = QApplication::activeModalWidget()) != nullptr; },
                              20'000));
  box->close();
  EXPECT_EQ(window_.profile(), shown);
}

}  // namespace
}  // namespace pipetrace
